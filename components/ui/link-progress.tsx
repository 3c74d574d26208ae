'use client';

import { useLinkStatus } from 'next/link';

/** Inside a link: a line runs along the top of the window while the page behind it is on its way. */
export function LinkProgress() {
  const { pending } = useLinkStatus();
  return pending ? <span className="running" aria-hidden="true" /> : null;
}
