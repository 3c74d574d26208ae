import type { AuditRecord } from 'oncekit/admin';
import type { ReactNode } from 'react';
import { Notice } from '../../ui/notice.tsx';

interface Props {
  /** As the address says it, which may say anything. */
  notice: string | string[] | undefined;
  /** The newest record of an erasure of the person that the address names. */
  record: AuditRecord | undefined;
}

/** Shows an erasure as it is on record: how much was erased, and by name what is left. */
export function EraseNotice({ notice, record }: Props) {
  if (notice === 'invalid') return <Said tone="bad">Say whose. Fill in both.</Said>;
  if (notice === 'stale' || notice === 'changed')
    return <Said tone="warn">This page is no longer new. Nothing was erased; ask for it again.</Said>;
  if (notice === 'unsure')
    return <Said tone="warn">Nobody knows whether it was erased. Ask for it again: that harms nothing.</Said>;
  if (notice !== 'erased' || !record?.detail) return null;
  const { keys: forgotten, unsettled: open, left = '', ...own } = record.detail;
  const unsettled = Number(open);
  const others = Object.entries(own).filter(([name, count]) => name !== 'names' && Number(count) > 0);
  const erased = [
    ...(Number(forgotten) > 0 ? [`what was stored of ${keys(Number(forgotten))}`] : []),
    ...others.map(([name, count]) => `${count} ${name}`),
  ];
  return (
    <Said tone={unsettled === 0 ? 'good' : 'warn'}>
      {erased.length === 0 ? 'There was nothing left to erase.' : `Erased ${erased.join(', ')}.`}
      {unsettled === 0
        ? ''
        : ` ${keys(unsettled)} ${unsettled === 1 ? 'is not settled yet, or waits' : 'are not settled yet, or wait'} for a person. Erase again later.`}
      {left ? ` Left: ${left}.` : ''}
    </Said>
  );
}

function Said({ tone, children }: { tone: 'good' | 'warn' | 'bad'; children: ReactNode }) {
  return (
    <div role={tone === 'good' ? 'status' : 'alert'} data-notice tabIndex={-1} className="mb-6 max-w-2xl">
      <Notice tone={tone}>{children}</Notice>
    </div>
  );
}

function keys(count: number): string {
  return count === 1 ? '1 key' : `${count.toLocaleString('en-US')} keys`;
}
