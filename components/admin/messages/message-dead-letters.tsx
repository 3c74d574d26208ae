import type { Open } from 'oncekit/admin';
import { Panel } from '../../ui/panel.tsx';
import type { FormAction } from '../keys/key-form.tsx';
import { MessageForm } from './message-form.tsx';

/** For each destination with dead letters, one button for all of them. */
export function MessageDeadLetters({ open, requeueAll }: { open: readonly Open[]; requeueAll: FormAction }) {
  const dead = open.filter(({ state }) => state === 'dead');
  if (dead.length === 0) return null;
  return (
    <Panel aria-labelledby="dead-title" className="mb-6">
      <h2 id="dead-title" className="text-lg font-semibold">
        Dead letters
      </h2>
      <p className="mt-1 max-w-prose text-sm text-muted">
        Given up on. Each holds up the later events of its aggregate. Requeuing sends them again from their first
        attempt on, and what waits behind them follows.
      </p>
      <ul className="mt-2 divide-y divide-line">
        {dead.map(({ peer, count }) => (
          <li key={peer} className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 py-3 last:pb-0">
            <span className="min-w-0 break-words">
              {count.toLocaleString('en-US')} of <strong className="font-medium">{peer}</strong>
            </span>
            <MessageForm
              action={requeueAll}
              about={{ destination: peer }}
              label={`Requeue all dead letters of ${peer}`}
              variant="quiet"
            />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
