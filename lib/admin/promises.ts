import type { DatabaseFacts, Timeline } from '../store/oversight.ts';

/** A promise of the database about an answer, kept or not, in a sentence. */
export interface DatabasePromise {
  /** `problem`: it is not kept at all. `warning`: it is less than people take it for. */
  level: 'ok' | 'warning' | 'problem';
  says: string;
  /** The remedy of a warning or problem. */
  fix?: string;
}

interface Asked {
  /** Names of operations that say `durability: 'replicated'`. */
  replicated?: readonly string[];
  now?: Date;
}

/** A key with phases is kept for so long. */
const KEPT_MS = 72 * 3_600_000;

/** The facts in words, the worst first. */
export function promisesOf(facts: DatabaseFacts, { replicated = [], now = new Date() }: Asked = {}): DatabasePromise[] {
  const found = [
    ...writes(facts),
    ...crashes(facts),
    ...(storesElsewhere(facts) ? [] : standbys(facts, replicated)),
    ...timelines(facts, now),
  ];
  const levels = ['problem', 'warning', 'ok'];
  if (found.length === 0) found.push({ level: 'ok', says: kept(facts) });
  return found.sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
}

/** Engines that keep several copies below SQL, where no standby has a say. */
const storesElsewhere = ({ engine }: DatabaseFacts) => /^(Aurora|Neon|CockroachDB|YugabyteDB)/.test(engine);

function kept(facts: DatabaseFacts): string {
  if (storesElsewhere(facts)) return `${facts.engine} keeps what is committed in its own replicated storage.`;
  const { standbys, standbyNames } = facts;
  if (standbyNames !== '') return 'What is answered is on a synchronous standby, too.';
  return standbys > 0 ? 'What is answered survives a crash.' : 'One server: what is answered survives a crash of it.';
}

function* writes({ isStandby, isReadOnly }: DatabaseFacts): Iterable<DatabasePromise> {
  if (isStandby) {
    const says = 'It is a standby, and takes no writes.';
    yield { level: 'problem', says, fix: 'Let DATABASE_URL lead to the primary.' };
  } else if (isReadOnly) {
    const says = 'It takes no writes: its transactions are read-only.';
    yield { level: 'problem', says, fix: 'Look at default_transaction_read_only, and at its disk.' };
  }
}

function* crashes({ hasFsync, synchronousCommit }: DatabaseFacts): Iterable<DatabasePromise> {
  if (!hasFsync) {
    const says = 'fsync is off: a crash of its machine may destroy the database, keys and all.';
    yield { level: 'warning', says, fix: 'ALTER SYSTEM SET fsync = on' };
  }
  if (synchronousCommit === 'off') {
    const says =
      'synchronous_commit is off: a crash may take back what was answered in its last second, key and effect.';
    yield { level: 'warning', says, fix: 'ALTER SYSTEM SET synchronous_commit = on' };
  }
}

function* standbys(facts: DatabaseFacts, replicated: readonly string[]): Iterable<DatabasePromise> {
  const { standbys, standbyNames, synchronousStandbys, synchronousCommit } = facts;
  if (standbyNames === '') {
    if (replicated.length > 0) {
      const says = `${replicated.join(', ')}: durability is 'replicated', and there is no synchronous standby, so nothing executes.`;
      yield { level: 'problem', says, fix: 'Name one in synchronous_standby_names.' };
    } else if (standbys > 0) {
      const says = `${standbys === 1 ? 'A standby follows' : `${standbys} standbys follow`}, none of them synchronous: a failover may lose what was answered last, key and effect together.`;
      yield { level: 'warning', says, fix: 'Name one in synchronous_standby_names, or know that it may happen.' };
    }
    return;
  }
  if (synchronousStandbys === 0) {
    const says = `No standby of synchronous_standby_names (${standbyNames}) is there: a COMMIT that waits for one has no end.`;
    yield { level: 'problem', says, fix: 'Bring it back, or take its name out.' };
  }
  if (!['on', 'remote_apply'].includes(synchronousCommit)) {
    const says = `synchronous_commit is ${synchronousCommit}: what is answered waits for no standby's disk, unless its operation says durability: 'replicated'.`;
    yield { level: 'warning', says, fix: "ALTER SYSTEM SET synchronous_commit = on, or say durability: 'replicated'." };
  }
}

function* timelines({ timelines }: DatabaseFacts, now: Date): Iterable<DatabasePromise> {
  const [before, after] = timelines.slice(-2) as [Timeline, Timeline | undefined];
  if (!after || now.getTime() - after.firstSeenAt.getTime() > KEPT_MS) return;
  const minute = (at: Date) => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const times = [before.lastSeenAt, after.firstSeenAt].sort((a, b) => a.getTime() - b.getTime()).map(minute);
  yield {
    level: 'warning',
    says: `Its timeline went from ${before.number} to ${after.number} at about ${times.join(' to ')}: a failover or a restore. Keys may be missing with their effects: of a failover without a synchronous standby those of its last seconds, of a restore all that are younger than the backup.`,
    fix: 'Compare with what others know: docs/failover.md.',
  };
}
