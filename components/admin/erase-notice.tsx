import type { ReactNode } from 'react';
import { Notice } from '../ui/notice.tsx';

/** What came of an erasure, in numbers. */
export function EraseNotice({ params }: { params: Record<string, string | string[] | undefined> }) {
  const { notice } = params;
  if (notice === 'invalid') return <Said tone="bad">Say whose. Fill in both.</Said>;
  if (notice !== 'erased') return null;
  const [forgotten, unsettled] = [countOf(params.forgotten), countOf(params.unsettled)];
  const done = forgotten === 0 ? 'There was nothing left to erase.' : `Erased what was stored of ${keys(forgotten)}.`;
  const rest =
    unsettled === 0 ? '' : ` ${keys(unsettled)} ${unsettled === 1 ? 'is' : 'are'} not settled yet. Erase again later.`;
  return (
    <Said tone={unsettled === 0 ? 'good' : 'warn'}>
      {done}
      {rest}
    </Said>
  );
}

function Said({ tone, children }: { tone: 'good' | 'warn' | 'bad'; children: ReactNode }) {
  return (
    <div role={tone === 'good' ? 'status' : 'alert'} className="mb-6 max-w-2xl">
      <Notice tone={tone}>{children}</Notice>
    </div>
  );
}

function keys(count: number): string {
  return count === 1 ? '1 key' : `${count.toLocaleString('en-US')} keys`;
}

/** An address may say anything. */
function countOf(said: string | string[] | undefined): number {
  return /^\d{1,9}$/.test(String(said)) ? Number(said) : 0;
}
