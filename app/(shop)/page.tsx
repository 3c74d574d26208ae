import { connection } from 'next/server';
import { ProductCard } from '../../components/shop/product-card.tsx';
import { ShopHero } from '../../components/shop/shop-hero.tsx';
import { listProducts } from '../../shop/orders/products.ts';
import { buy } from './actions.ts';

export default async function ShopPage() {
  await connection(); // what is in stock now, not when the app was built
  const products = await listProducts();
  return (
    <>
      <ShopHero />
      <ul className="grid gap-6 sm:grid-cols-2">
        {products.map((product) => (
          <ProductCard key={product.sku} product={product} buy={buy} />
        ))}
      </ul>
    </>
  );
}
