import type { Open } from 'oncekit/admin';
import { Panel } from '../../ui/panel.tsx';
import type { FormAction } from '../keys/key-form.tsx';
import { Confirm } from '../shared/confirm.tsx';
import { MessageForm } from './message-form.tsx';

/** For each destination with dead letters, one act for all of them, which asks first. */
export function MessageDeadLetters({ open, requeueAll }: { open: readonly Open[]; requeueAll: FormAction }) {
  const dead = open.filter(({ state }) => state === 'dead');
  if (dead.length === 0) return null;
  return (
    <Panel aria-labelledby="dead-title" className="mb-6">
      <h2 id="dead-title" className="text-lg font-semibold">
        Requeue dead letters
      </h2>
      <p className="mt-1 max-w-prose text-sm text-muted">
        Given up on. Each holds up the later events of its aggregate. Requeuing sends them again from their first
        attempt on, and what waits behind them follows.
      </p>
      <div className="mt-2">
        {dead.map(({ peer, count }) => (
          <Confirm
            key={peer}
            title={`Requeue all ${count.toLocaleString('en-US')} of ${peer}…`}
            words={
              <p>
                {count === 1 ? 'It is' : `All ${count.toLocaleString('en-US')} are`} sent to {peer} again, and what
                waits behind {count === 1 ? 'it' : 'them'} follows. Where the cause is not mended, they come back here.
              </p>
            }
          >
            <MessageForm
              action={requeueAll}
              about={{ destination: peer }}
              label={`Requeue all dead letters of ${peer}`}
              variant="quiet"
            />
          </Confirm>
        ))}
      </div>
    </Panel>
  );
}
