import type { Outcome, Refusal } from 'oncekit';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import { TextLink } from '../ui/text-link.tsx';

/** The same key was sent before, with other values. */
export function isMismatch(result: Outcome<unknown> | null): result is Refusal {
  return result !== null && !result.ok && result.code === 'payload_mismatch';
}

/** Behind a mismatch: what the first submission came to, and the way to a form of its own for what was meant now. */
export function FirstAnswer({ mismatch, freshHref }: { mismatch: Refusal; freshHref: string }) {
  const { first } = (mismatch.data ?? {}) as { first?: Outcome<PlacedOrder> };
  return (
    <div className="grid gap-1">
      {first?.ok ? (
        <TextLink href={`/orders/${first.data.id}`}>The first submission placed this order.</TextLink>
      ) : null}
      {first && !first.ok ? <p>The first submission was answered: {first.message}</p> : null}
      {/* A plain link: the page must be fetched anew to bring a new key. */}
      <a href={freshHref} className="font-medium text-accent underline underline-offset-2">
        Open a fresh form
      </a>
    </div>
  );
}
