import Link from 'next/link';
import type { ComponentProps } from 'react';
import { LinkProgress } from './link-progress.tsx';

export function TextLink({ className = '', children, ...props }: ComponentProps<typeof Link>) {
  return (
    <Link
      className={`font-medium text-accent underline underline-offset-2 hover:text-accent-strong ${className}`}
      {...props}
    >
      {children}
      <LinkProgress />
    </Link>
  );
}
