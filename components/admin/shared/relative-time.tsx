const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/** "3 minutes ago", with the exact time in the title. */
export function RelativeTime({ at, now }: { at: Date; now: number }) {
  const difference = at.getTime() - now;
  const [unit, ms] = UNITS.find(([, size]) => Math.abs(difference) >= size) ?? UNITS[3];
  return (
    <time dateTime={at.toISOString()} title={at.toISOString()}>
      {words.format(Math.round(difference / ms), unit)}
    </time>
  );
}
