'use client';

import { useEffect, useRef } from 'react';

/** A hidden field that a script of the page changes all the time, as captchas and time stamps do, only more often. */
export function ChangingField({ name }: { name: string }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const timer = setInterval(() => {
      if (field.current) field.current.value = `${performance.now()}`;
    }, 300);
    return () => clearInterval(timer);
  }, []);
  return <input ref={field} type="hidden" name={name} />;
}
