'use client';

import Link from 'next/link';
import { usePathname } from 'next/navigation';
import { LinkProgress } from '../ui/link-progress.tsx';

interface Props {
  href: string;
  name: string;
  className: string;
}

/** A link of the header. Marked where one is. */
export function NavLink({ href, name, className }: Props) {
  const path = usePathname();
  const isHere = path === href || (href !== '/' && path.startsWith(`${href.replace('/keys', '')}/`));
  return (
    // Not prefetched: these pages are made per visitor, and issue keys.
    <Link
      href={href}
      prefetch={false}
      aria-current={isHere ? 'page' : undefined}
      className={`${className} aria-[current=page]:font-medium aria-[current=page]:text-accent`}
    >
      {name}
      <LinkProgress />
    </Link>
  );
}
