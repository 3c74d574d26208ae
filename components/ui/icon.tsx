const paths = {
  check: 'M5 12.5l4.5 4.5L19 7.5',
  clock: 'M12 7v5l3.5 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  cross: 'M7 7l10 10M17 7L7 17',
  letter: 'M4 6h16v12H4zM4 7l8 6 8-6',
  cart: 'M3 5h2l2.5 10h9l2-7H6.5M9 19h.010M15.5 19h.010',
  receipt: 'M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6',
  back: 'M9 8L5 12l4 4M5 12h9a5 5 0 0 1 5 5v1',
  signal: 'M5 13a10 10 0 0 1 14 0M8 16a6 6 0 0 1 8 0M12 19h.010',
  lost: 'M12 8v5M12 16.5h.010M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
} as const;

export type IconName = keyof typeof paths;

/** A small line drawing beside words that say the same. */
export function Icon({ name, className = 'size-5' }: { name: IconName; className?: string }) {
  return (
    <svg
      viewBox="0 0 24 24"
      className={`shrink-0 fill-none stroke-current stroke-[1.8] ${className}`}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
