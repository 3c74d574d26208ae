import { type Fence, type Fenced, type Store, StoreUnavailableError } from '../store.ts';
import { type PrismaClientLike, primaryOf, type RawQueries, type TransactionOf } from './client.ts';
import { countByState } from './count-by-state.ts';
import { isLockTimeout, isUnavailable } from './errors.ts';
import { events, recordEvent } from './events.ts';
import { execute } from './execute.ts';
import { fence } from './fence.ts';
import { find } from './find.ts';
import { list } from './list.ts';
import { probe } from './probe.ts';
import { rerun } from './rerun.ts';
import { judgeWindow } from './window.ts';

/** The store on the user's own Prisma client. */
export function prismaStore<Client extends PrismaClientLike>(client: Client): Store<TransactionOf<Client>> {
  const primary = () => primaryOf(client);
  return {
    execute: (claim, run, how) => execute(client, claim, run as (tx: RawQueries) => ReturnType<typeof run>, how),
    rerun: (id, run, how) => rerun(client, id, run as (tx: RawQueries) => ReturnType<typeof run>, how),
    find: (id) => asked(() => find(primary(), id)),
    probe: (id) => asked(() => probe(client, primary(), id)),
    fence: (wanted) => asked(() => fenceOrRival(client, wanted)),
    list: (filter) => asked(() => list(primary(), filter)),
    countByState: () => asked(() => countByState(primary())),
    recordEvent: (id, event) => asked(() => recordEvent(primary(), id, event)),
    events: (id) => asked(() => events(primary(), id)),
  };
}

async function fenceOrRival(client: PrismaClientLike, wanted: Fence): Promise<Fenced> {
  try {
    return await client.$transaction(
      async (tx: RawQueries): Promise<Fenced> => {
        if (await fence(tx, wanted)) {
          await recordEvent(tx, wanted, { type: 'fenced', actor: 'client', detail: null });
          return { kind: 'fenced' };
        }
        const row = await find(tx, wanted);
        if (row) return { kind: 'existing', row };
        const verdict = await judgeWindow(tx, wanted);
        // Another's claim; or a row that was in the way and has just been reaped: nothing is proven, so ask again.
        return verdict === 'open' ? { kind: 'locked' } : { kind: verdict };
      },
      { timeout: wanted.waitMs + 5000, isolationLevel: 'ReadCommitted' },
    );
  } catch (error) {
    if (isLockTimeout(error)) return { kind: 'locked' };
    throw error;
  }
}

/** Fail closed (C6): whoever asks learns that the database could not be asked, not what its driver said. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    throw new StoreUnavailableError('The database could not be reached.', { cause: error });
  }
}
