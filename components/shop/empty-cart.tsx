'use client';

import { lazy, Suspense } from 'react';
import { Empty } from '../ui/empty.tsx';
import { TextLink } from '../ui/text-link.tsx';

// Seldom needed, so no part of what everybody loads.
const SentOrder = lazy(async () => ({ default: (await import('./sent-order.tsx')).SentOrder }));

export function EmptyCart() {
  return (
    <Empty icon="cart">
      <p className="text-lg font-medium">Your cart is empty</p>
      <Suspense>
        <SentOrder />
      </Suspense>
      <TextLink href="/">Choose something in the shop</TextLink>
    </Empty>
  );
}
