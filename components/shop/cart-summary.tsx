import type { CartView } from '../../shop/orders/carts.ts';
import { formatCents } from '../ui/money.ts';
import { Panel } from '../ui/panel.tsx';
import { ProductPicture } from './product-picture.tsx';

/** The goods in the cart, and their prices. */
export function CartSummary({ cart: { sku, name, quantity, priceCents, amountCents } }: { cart: CartView }) {
  return (
    <Panel aria-labelledby="cart-title">
      <h2 id="cart-title" className="text-lg font-semibold">
        Your cart
      </h2>
      <div className="mt-4 flex items-center gap-4">
        <ProductPicture sku={sku} className="size-20 shrink-0 rounded-lg" />
        <div className="min-w-0">
          <p className="font-medium">{name}</p>
          <p className="text-sm text-muted tabular-nums">
            {quantity} × {formatCents(priceCents)}
          </p>
        </div>
      </div>
      <p className="mt-4 flex items-baseline justify-between gap-4 border-t border-line pt-4 font-semibold">
        <span>Total</span>
        <span className="text-xl tabular-nums">{formatCents(amountCents)}</span>
      </p>
    </Panel>
  );
}
