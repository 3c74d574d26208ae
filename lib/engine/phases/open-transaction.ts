import type { StandardSchema } from '../../core/standard-schema.ts';
import type { Begun, HeldKey, LeasedClaim, NewStep, Opened, Write } from '../../store/leases.ts';
import type { OperationOptions } from '../definition.ts';
import type { Engine } from '../engine.ts';
import { asBegun } from '../transaction.ts';

/** How the transactions of a run are made. */
export interface RunSettings<Tx> {
  readonly engine: Engine<Tx>;
  readonly options: OperationOptions<StandardSchema, Tx>;
  /** When the run's time is up, in milliseconds of `performance.now()`. */
  readonly deadline: number;
  /** False: the caller retries, and nobody below shall multiply that (H4). */
  readonly innerRetries: boolean;
}

/** A transaction of the executor that stays open until it is told how to end, or has ended by itself. */
export interface OpenTransaction<Tx> extends Opened<Tx> {
  /** The one write that it makes as it is committed. */
  readonly write: Write & { steps: NewStep[] };
  readonly ended: Promise<Begun>;
  commit(): void;
  rollBack(error: unknown): void;
}

/** A transaction that did not open; nothing can have been committed in it. */
type NotOpened = Exclude<Begun, { kind: 'committed' }>;

/** Opens a transaction of the executor, with the claim in it where the key is yet to be claimed; or says why there is none. */
export async function openTransaction<Tx>(
  { engine, options, deadline }: Omit<RunSettings<Tx>, 'innerRetries'>,
  on: { claim: LeasedClaim } | { held: HeldKey },
): Promise<OpenTransaction<Tx> | NotOpened> {
  const { store, config } = engine;
  const id = 'claim' in on ? on.claim : on.held.id;
  const waitMs = 'claim' in on ? on.claim.waitMs : 0;
  const write: OpenTransaction<Tx>['write'] = { steps: [] };
  const beforeCommit = async () => {
    const { operation, key } = id;
    const phases = write.steps.filter(({ kind }) => kind !== 'capture');
    for (const { name: step } of phases) await config.onPoint?.('before-commit', { operation, key, step });
    if (phases.length === 0 && write.settle) await config.onPoint?.('before-commit', { operation, key });
  };
  const how = { ...asBegun(engine, options, { id, waitMs, deadline }), beforeCommit };
  return await new Promise((resolve, reject) => {
    let first: Promise<Write> | undefined;
    const stayOpen = async (opened: Opened<Tx>) => {
      // A `$transaction` of the client's own begins again: whoever ran in it has gone on.
      if (first)
        throw await first.then(
          () => new Error('Rolled back, and not begun again.'),
          (error) => error,
        );
      first = new Promise((commit, rollBack) => {
        resolve({ ...opened, write, ended, commit: () => commit(write), rollBack });
      });
      return await first;
    };
    const ended: Promise<Begun> =
      'claim' in on ? store.begin(on.claim, stayOpen, how) : store.transact(on.held, config.leaseMs, stayOpen, how);
    ended.then((begun) => resolve(begun as NotOpened), reject);
  });
}
