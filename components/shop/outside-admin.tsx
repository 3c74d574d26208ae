'use client';

import { usePathname } from 'next/navigation';
import type { ReactNode } from 'react';

interface Props {
  children: ReactNode;
  /** Stands in its place in the admin view. */
  inside?: ReactNode;
}

/** Outside of the admin view alone. That one has a sign-in of its own, say: two beside each other would be taken for one. */
export function OutsideAdmin({ children, inside = null }: Props) {
  return usePathname().startsWith('/admin') ? inside : children;
}
