import Link from 'next/link';
import type { ComponentProps } from 'react';

export function TextLink({ className = '', ...props }: ComponentProps<typeof Link>) {
  return (
    <Link
      className={`font-medium text-accent underline underline-offset-2 hover:text-accent-strong ${className}`}
      {...props}
    />
  );
}
