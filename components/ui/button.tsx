import type { ComponentProps } from 'react';

const base =
  'relative inline-flex min-h-11 items-center justify-center overflow-hidden rounded-lg px-4 py-2 text-base font-medium transition-colors ' +
  'disabled:cursor-not-allowed disabled:opacity-60 sm:min-h-10';

const variants = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong',
  quiet: 'border border-strong-line bg-surface text-ink hover:bg-sunken',
  /** For an act that cannot be taken back and may do harm: never the one that the eye falls upon. */
  danger: 'border border-bad bg-surface text-bad hover:bg-bad-surface',
} as const;

export type ButtonVariant = keyof typeof variants;

/** For links that look like buttons. */
export function buttonClass(variant: ButtonVariant = 'primary', more = ''): string {
  return `${base} ${variants[variant]} ${more}`;
}

export function Button({
  variant = 'primary',
  className = '',
  type = 'submit',
  ...props
}: ComponentProps<'button'> & { variant?: ButtonVariant }) {
  return <button type={type} className={buttonClass(variant, className)} {...props} />;
}
