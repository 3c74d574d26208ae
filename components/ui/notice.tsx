import type { ReactNode } from 'react';

const tones = {
  good: 'bg-good-surface text-good',
  bad: 'bg-bad-surface text-bad',
  warn: 'bg-warn-surface text-warn',
  info: 'bg-info-surface text-info',
} as const;

/** Something to read before going on. */
export function Notice({ tone, children }: { tone: keyof typeof tones; children: ReactNode }) {
  return <div className={`rounded-lg px-4 py-3 ${tones[tone]}`}>{children}</div>;
}
