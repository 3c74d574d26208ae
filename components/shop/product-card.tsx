import type { Product } from '../../lib/demo/products.ts';
import { Button } from '../ui/button.tsx';
import { formatCents } from '../ui/money.ts';
import { ProductPicture } from './product-picture.tsx';

export function ProductCard({ product, buy }: { product: Product; buy: (form: FormData) => Promise<void> }) {
  const { sku, name, description, priceCents, stock } = product;
  return (
    <li className="flex flex-col overflow-hidden rounded-xl border border-line bg-surface">
      <ProductPicture sku={sku} />
      <div className="flex flex-1 flex-col p-5">
        <div className="flex items-baseline justify-between gap-4">
          <h2 className="text-lg font-semibold">{name}</h2>
          <p className="tabular-nums">{formatCents(priceCents)}</p>
        </div>
        <p className="mt-1 flex-1 text-muted">{description}</p>
        <p className="mt-3 text-sm text-muted">{stockWords(stock)}</p>
        <form action={buy} className="mt-3 flex items-center gap-3">
          <input type="hidden" name="sku" value={sku} />
          <label className="flex items-center gap-2 text-sm">
            Quantity
            <select
              name="quantity"
              className="min-h-11 rounded-lg border border-strong-line bg-surface px-3 text-base sm:min-h-10"
            >
              {[1, 2, 3, 4, 5].map((quantity) => (
                <option key={quantity}>{quantity}</option>
              ))}
            </select>
          </label>
          <Button disabled={stock === 0} className="ml-auto" aria-label={`Buy ${name}`}>
            Buy
          </Button>
        </form>
      </div>
    </li>
  );
}

function stockWords(stock: number): string {
  if (stock === 0) return 'Sold out';
  return stock <= 10 ? `Only ${stock} left` : `${stock.toLocaleString('en-US')} in stock`;
}
