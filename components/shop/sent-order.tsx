'use client';

import { useLastSubmission } from 'oncekit/react';
import { buttonClass } from '../ui/button.tsx';

const stay = () => {};

/** Leads to an order that was sent from here and of which nobody has heard yet: whoever sees an empty cart may order again. */
export function SentOrder() {
  const { intent, href } = useLastSubmission({ load: stay });
  if (!intent?.startsWith('checkout:') || !href) return null;
  return (
    <>
      <p className="text-muted">You have sent an order. See what became of it before you order again.</p>
      <a href={href} className={buttonClass()}>
        Show this order
      </a>
    </>
  );
}
