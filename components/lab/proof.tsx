'use client';

import { useRouter } from 'next/navigation';
import { useState } from 'react';
import type { LabProof } from '../../shop/lab/proof.ts';
import { Button } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { Cell, Row, Table } from '../ui/table.tsx';
import { TitledPanel } from '../ui/titled-panel.tsx';

/** Fifty posts with one key at once, and what the database holds then. */
export function Proof() {
  const { refresh } = useRouter();
  const [proof, setProof] = useState<LabProof | null>(null);
  const [state, setState] = useState<'idle' | 'sending' | 'failed'>('idle');
  const run = async () => {
    if (state === 'sending') return;
    setState('sending');
    try {
      const answer = await fetch('/api/lab/prove', { method: 'POST' });
      if (!answer.ok) throw new Error(`${answer.status}`);
      setProof(await answer.json());
      setState('idle');
      refresh();
    } catch {
      setState('failed');
    }
  };
  return (
    <div className="mt-6">
      <TitledPanel title="Prove it">
        <p className="mt-2 mb-4 text-muted">Fifty posts with one key, all at once. Then the database is asked.</p>
        <Button type="button" variant="quiet" aria-disabled={state === 'sending'} onClick={run}>
          {state === 'sending' ? 'Sending 50 posts…' : 'Send 50 posts'}
        </Button>
        <div aria-live="polite" className="mt-4 grid gap-4 empty:mt-0">
          {state === 'failed' ? <Notice tone="bad">The posts could not be sent. Try again in a moment.</Notice> : null}
          {proof ? <Proven proof={proof} /> : null}
        </div>
      </TitledPanel>
    </div>
  );
}

function Proven({ proof: { posts, answers, orders, sql, rows, key } }: { proof: LabProof }) {
  return (
    <>
      <p data-proof={posts}>
        {posts} answers: {answers.map(({ name, count }) => `${count} ${name}`).join(', ')}. They name {orders}{' '}
        {orders === 1 ? 'order' : 'different orders'}.
      </p>
      <Table label="Rows in the database" columns={['Table', 'Rows']} numbers={['Rows']}>
        {rows.map(({ table, rows: count }) => (
          <Row key={table}>
            <Cell className="font-mono">{table}</Cell>
            <Cell className="text-right tabular-nums" data-rows={table}>
              {count}
            </Cell>
          </Row>
        ))}
      </Table>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section aria-label="The SQL that counted" tabIndex={0} className="overflow-x-auto rounded-xl bg-sunken p-4">
        <pre className="font-mono text-sm">{`${sql}\n-- $2 = ${key}`}</pre>
      </section>
    </>
  );
}
