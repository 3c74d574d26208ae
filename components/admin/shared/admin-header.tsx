import Link from 'next/link';
import type { ReactNode } from 'react';

interface Props {
  pages: readonly { name: string; href: string; label: string }[];
  /** The name of one of them, where one is open. */
  current?: string | undefined;
  /** The end of the header, such as the way out. */
  children?: ReactNode;
}

/** The pages of the admin view, and which one is open. */
export function AdminHeader({ pages, current, children }: Props) {
  return (
    <div className="mb-6 flex items-end justify-between gap-4 border-b border-line sm:mb-8">
      <nav aria-label="Admin">
        <ul className="flex sm:gap-2">
          {pages.map(({ name, href, label }) => (
            <li key={name}>
              <Link
                href={href}
                prefetch={false}
                aria-current={name === current ? 'page' : undefined}
                className="-mb-px inline-flex min-h-11 items-center border-b-2 border-transparent px-2 font-medium text-muted hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink sm:px-3"
              >
                {label}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {children}
    </div>
  );
}
