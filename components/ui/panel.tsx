import type { ComponentProps } from 'react';

/** A raised area of the page. */
export function Panel({ className = '', ...props }: ComponentProps<'section'>) {
  return (
    <section className={`rounded-xl border border-line bg-surface p-5 shadow-raise sm:p-6 ${className}`} {...props} />
  );
}
