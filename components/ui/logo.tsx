/** The mark of the shop: one. The same as app/icon.svg. */
export function Logo({ className = '' }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" className={className} aria-hidden="true">
      <rect width="32" height="32" rx="8" className="fill-accent" />
      <path
        d="M13 11l4-3v16"
        className="fill-none stroke-on-accent stroke-[3.2]"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
