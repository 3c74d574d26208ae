import type { CartView } from '../../lib/demo/carts.ts';
import { formatCents } from '../ui/money.ts';
import { Panel } from '../ui/panel.tsx';

export function CartSummary({ cart }: { cart: CartView }) {
  return (
    <Panel aria-labelledby="cart-title">
      <h2 id="cart-title" className="text-lg font-semibold">
        Your cart
      </h2>
      <p className="mt-3 flex justify-between gap-4">
        <span>
          {cart.quantity} × {cart.name}
        </span>
        <span className="tabular-nums">{formatCents(cart.amountCents)}</span>
      </p>
      <p className="mt-3 flex justify-between gap-4 border-t border-line pt-3 font-semibold">
        <span>Total</span>
        <span className="tabular-nums">{formatCents(cart.amountCents)}</span>
      </p>
    </Panel>
  );
}
