'use client';

import { useRouter } from 'next/navigation';
import { useEffect } from 'react';

const EVERY_MS = 2000;

/** Fetches the page anew while it is looked at, for what is still to come. Without JavaScript, a reload does. */
export function KeepFresh() {
  const { refresh } = useRouter();
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') refresh();
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  return null;
}
