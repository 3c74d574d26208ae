import type { ReactNode } from 'react';

const tones = {
  good: 'bg-good-surface text-good',
  bad: 'bg-bad-surface text-bad',
  warn: 'bg-warn-surface text-warn',
  info: 'bg-info-surface text-info',
  muted: 'bg-sunken text-muted',
} as const;

export type Tone = keyof typeof tones;

export function toneClass(tone: Tone): string {
  return tones[tone];
}

export function Badge({ tone = 'muted', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={`inline-block rounded-full px-2.5 py-0.5 text-sm font-medium whitespace-nowrap ${tones[tone]}`}>
      {children}
    </span>
  );
}
