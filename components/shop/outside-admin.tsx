'use client';

import { usePathname } from 'next/navigation';
import type { ReactNode } from 'react';

/** Not in the admin view, which has a sign-in of its own: two of them beside each other would be taken for one. */
export function OutsideAdmin({ children }: { children: ReactNode }) {
  return usePathname().startsWith('/admin') ? null : children;
}
