import Link from 'next/link';
import { buttonClass } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';

const promises = [
  'Click twice: one order.',
  'Lose the connection: we find out what became of it.',
  'Close the page: it goes on, and charges you once.',
];

/** The shop's claim, at the head of its first page. */
export function ShopHero() {
  return (
    <div className="mb-8 grid items-end gap-6 sm:mb-10 md:grid-cols-[1fr_max-content]">
      <div>
        <h1 className="text-3xl font-semibold tracking-tight sm:text-5xl">Good things, once</h1>
        <ul className="mt-4 grid gap-1.5 text-muted sm:mt-5">
          {promises.map((promise) => (
            <li key={promise} className="flex gap-2">
              <Icon name="check" className="mt-0.5 size-5 text-accent" />
              {promise}
            </li>
          ))}
        </ul>
      </div>
      <Link href="/lab" prefetch={false} className={buttonClass('quiet', 'max-md:w-full')}>
        Try to break it
      </Link>
    </div>
  );
}
