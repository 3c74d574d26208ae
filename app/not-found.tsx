import { headers } from 'next/headers';
import type { ReactNode } from 'react';
import { OutsideAdmin } from '../components/shop/outside-admin.tsx';
import { NothingHere } from '../components/ui/nothing-here.tsx';
import { TextLink } from '../components/ui/text-link.tsx';
import { isAdmin } from '../shop/admin/session.ts';
import { NOTHING_HEADER } from '../shop/session/nothing-here.ts';
import OrderNotFound from './(shop)/orders/not-found.tsx';
import AdminNotFound from './admin/not-found.tsx';
import GuideNotFound from './docs/not-found.tsx';

export const metadata = { title: 'Not found' };

/** What the proxy has found nothing at, in the words of its area. */
const AREAS: Record<string, () => ReactNode> = { orders: OrderNotFound, docs: GuideNotFound };

/** An address that no page has: Next asks no other file about those, not even for an area with a `not-found` of its own. */
export default async function NotFound() {
  const Area = AREAS[(await headers()).get(NOTHING_HEADER) ?? ''];
  if (Area) return <Area />;
  const here = (
    <NothingHere words="No page has this address. It may be mistyped, or the page has gone.">
      <TextLink href="/">Back to the shop</TextLink>
    </NothingHere>
  );
  return <OutsideAdmin inside={(await isAdmin()) ? <AdminNotFound /> : here}>{here}</OutsideAdmin>;
}
