import { describe, expect, test } from 'vitest';
import { CodedError } from '../../core/errors.ts';
import { driverError, isOutage, isUnavailable, violatedConstraint } from './errors.ts';
import { TableNames } from './tables.ts';
import { classify } from './transaction-plan.ts';

const provesRollback = (error: unknown) => classify(error, 'commit').kind === 'rolled_back';
const rollbackReason = (error: unknown) => classify(error, 'run').why;

/** Errors that a real server here does not give; `server-away.db.test.ts` and `read-only.db.test.ts` ask real ones. */

interface Answer {
  code: string;
  severity: string;
  message: string;
}

/** An answer as it reaches us on a connection of our own, in a raw query of Prisma's, and in one of a model. */
const shapes = (answer: Answer): unknown[] => {
  const { code, severity, message } = answer;
  const cause = { originalCode: code, originalMessage: message, kind: 'postgres', code, severity, message };
  const meta = { driverAdapterError: Object.assign(new Error(message), { name: 'DriverAdapterError', cause }) };
  return [
    driverError(Object.assign(new Error(message), answer)),
    meta.driverAdapterError,
    Object.assign(new Error(message), { name: 'PrismaClientKnownRequestError', code: 'P2010', meta }),
  ];
};

const said = (severity: string, code: string, message: string): Answer => ({ severity, code, message });

describe('an answer that says that the database cannot be asked', () => {
  test.each<[string, Answer]>([
    ['57P04 the database was dropped', said('FATAL', '57P04', 'terminating connection due to conflict with recovery')],
    ['Supavisor: no more clients', said('FATAL', 'XX000', 'MaxClientsInSessionMode: max clients reached')],
    ['pgcat: no server', said('FATAL', '58000', 'could not get connection from the pool - AllServersDown')],
    ['an answer of any code behind which the session is over', said('FATAL', '42601', 'what the future brings')],
    ['CockroachDB: it does not know', said('ERROR', '40003', 'result is ambiguous')],
    ['PgBouncer, newer: no server in time', said('FATAL', '08P01', 'query_wait_timeout')],
    ['a disk that fails', said('ERROR', '58030', 'could not read block')],
  ])('%s', (_, answer) => {
    for (const error of shapes(answer)) {
      expect(isUnavailable(error)).toBe(true);
      expect(rollbackReason(error)).toBe('unavailable');
      // Of a COMMIT it proves nothing.
      expect(provesRollback(error)).toBe(false);
    }
  });

  test('25006 is one, too, and the one that proves that a COMMIT was none', () => {
    for (const error of shapes(said('ERROR', '25006', 'cannot execute INSERT in a read-only transaction'))) {
      expect([isUnavailable(error), provesRollback(error)]).toEqual([true, true]);
    }
  });

  test.each(['run', 'completion', 'commit'] as const)(
    'of a transaction that Prisma has committed by itself nothing is known: %s',
    (at) => {
      const message = 'Transaction already closed: A query cannot be executed on a committed transaction.';
      const error = Object.assign(new Error(message), { code: 'P2028' });
      expect(classify(error, at).kind).toBe('in_doubt');
    },
  );

  test.each([
    said('ERROR', '23505', 'duplicate key'),
    said('ERROR', '58P01', 'could not open file'),
    said('ERROR', 'XX000', 'cache lookup failed'),
    said('ERROR', '42501', 'permission denied'),
  ])('$code of a statement is none', (answer) => {
    for (const error of shapes(answer)) {
      expect([isOutage(error), rollbackReason(error), provesRollback(error)]).toEqual([false, 'error', true]);
    }
  });
});

describe('a failure of the socket', () => {
  const raw = (code: string) => Object.assign(new Error(code), { code, syscall: 'write', errno: -1 });

  test.each(['EPIPE', 'EHOSTUNREACH', 'ECONNABORTED', 'EAI_AGAIN'])('%s', (code) => {
    // Of a statement of ours it is the database's. In a handler it may be that of another service.
    expect([isOutage(raw(code)), isUnavailable(raw(code))]).toEqual([true, false]);
    const ofPrisma = Object.assign(new Error(code), { name: 'PrismaClientKnownRequestError', code });
    expect(isUnavailable(ofPrisma)).toBe(true);
    for (const error of [raw(code), ofPrisma]) expect(provesRollback(error)).toBe(false);
  });
});

describe('the unique constraint that was violated', () => {
  const names = new TableNames({}, { idempotency_keys: 'request_keys' });
  const violated = (error: unknown) => violatedConstraint(error, (table) => names.isKits(table));
  /** As a query of a model has it, by what the adapter says of the constraint. */
  const unique = (said: object) => {
    const cause = { originalCode: '23505', kind: 'UniqueConstraintViolation', ...said };
    const meta = { modelName: 'User', driverAdapterError: { name: 'DriverAdapterError', cause } };
    return Object.assign(new Error('Unique constraint failed'), { code: 'P2002', meta });
  };

  test.each<[string, object, string]>([
    ['by its name', { constraint: { index: 'users_email_key' }, table: 'users' }, 'users_email_key'],
    ['by its columns', { constraint: { fields: ['team', 'email'] }, table: 'users' }, 'users(team, email)'],
    ['by its columns alone', { constraint: { fields: ['email'] } }, 'unnamed(email)'],
    ['of a table that the kit has under another name', { constraint: { index: 'a' }, table: 'idempotency_keys' }, 'a'],
    ['of a name that begins alike', { constraint: { index: 'a' }, table: 'request_keystones' }, 'a'],
  ])('%s', (_, said, name) => {
    expect(violated(unique(said))).toBe(name);
  });

  test.each<[string, object]>([
    ['a table', { constraint: { index: 'a' }, table: 'outbox_events' }],
    ['one with a name of its own', { constraint: { index: 'a' }, table: 'request_keys' }],
    ['a partition of it', { constraint: { index: 'a' }, table: 'request_keys_2026_11' }],
    ['an index, where the adapter knows no table', { constraint: { index: 'inbox_events_pkey' } }],
  ])('S8 of the kit it is none of theirs: %s', (_, said) => {
    expect(violated(unique(said))).toBeUndefined();
  });

  test('also at COMMIT, and in what it was wrapped in, but for an error of the kit, whose word it is', () => {
    const answer = { ...said('ERROR', '23505', 'duplicate key'), constraint: 'late_id_key', table: 'late' };
    const late = driverError(Object.assign(new Error(answer.message), answer));
    const wrapped = (cause: unknown) => new Error('wrapped', { cause });
    expect([late, wrapped(late), wrapped(wrapped(late))].map(violated)).toEqual(Array(3).fill('late_id_key'));
    const ofTheKit = new CodedError('unavailable', 'A later run goes on.', { cause: late });
    for (const other of [ofTheKit, wrapped(ofTheKit), new Error('none'), null, 'none']) {
      expect(violated(other)).toBeUndefined();
    }
  });
});
