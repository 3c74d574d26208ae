import type { Product } from '../../shop/orders/products.ts';
import { formatCents } from '../ui/money.ts';
import { PendingButton } from '../ui/pending-button.tsx';
import { ProductPicture } from './product-picture.tsx';

export function ProductCard({ product, buy }: { product: Product; buy: (form: FormData) => Promise<void> }) {
  const { sku, name, description, priceCents, stock } = product;
  return (
    <li className="flex flex-col overflow-hidden rounded-xl border border-line bg-surface shadow-raise">
      <ProductPicture sku={sku} className="h-48 w-full p-3 sm:h-56" />
      <div className="flex flex-1 flex-col p-5 sm:p-6">
        <div className="flex items-baseline justify-between gap-4">
          <h2 className="text-lg font-semibold">{name}</h2>
          <p className="text-lg font-semibold tabular-nums">{formatCents(priceCents)}</p>
        </div>
        <p className="mt-1 flex-1 text-muted">{description}</p>
        <p className={`mt-4 text-sm ${stock <= FEW ? 'font-medium text-warn' : 'text-muted'}`}>{stockWords(stock)}</p>
        <form action={buy} className="mt-3 flex items-center gap-4">
          <input type="hidden" name="sku" value={sku} />
          <label className="flex items-center gap-2 text-sm">
            Quantity
            <select
              name="quantity"
              disabled={stock === 0}
              className="min-h-11 rounded-lg border border-strong-line bg-surface px-2 text-base sm:min-h-10"
            >
              {amounts(stock).map((quantity) => (
                <option key={quantity}>{quantity}</option>
              ))}
            </select>
          </label>
          <PendingButton variant="quiet" disabled={stock === 0} className="flex-1" aria-label={`Buy ${name}`}>
            Buy
          </PendingButton>
        </form>
      </div>
    </li>
  );
}

const FEW = 10;
const MOST = 5;

/** No more than there are; and always one, for a list without a choice says nothing. */
function amounts(stock: number): number[] {
  return Array.from({ length: Math.max(1, Math.min(stock, MOST)) }, (_, index) => index + 1);
}

function stockWords(stock: number): string {
  if (stock === 0) return 'Sold out';
  return stock <= FEW ? `Only ${stock} left` : `${stock.toLocaleString('en-US')} in stock`;
}
