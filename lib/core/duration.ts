import { ConfigurationError } from './errors.ts';

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds, or a number with a unit: `500ms`, `30s`, `15m`, `24h`, `7d`. */
export type Duration = number | `${number}${keyof typeof UNITS}`;

/** The duration in milliseconds. Throws `ConfigurationError` when it cannot be read or is not positive. */
export function toMs(duration: Duration, name: string): number {
  const match = typeof duration === 'number' ? null : /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration);
  const ms =
    typeof duration === 'number' ? duration : match ? Number(match[1]) * UNITS[match[2] as keyof typeof UNITS] : NaN;
  if (!Number.isFinite(ms) || ms <= 0) {
    throw new ConfigurationError(`${name} is not a duration. Write milliseconds or a unit: '24h', '15m', '30s'.`, {
      existing: duration,
      expected: 'a positive number, or a number with ms, s, m, h or d',
    });
  }
  return Math.round(ms);
}
