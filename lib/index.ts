import { Decimal } from '@prisma/client/runtime/client';
import { assertKnownOptions } from './core/options.ts';
import { OPTIONS, type Options } from './engine/config.ts';
import { type Idempotency, idempotencyOn } from './engine/idempotency.ts';
import { reviveDecimalsAs } from './engine/stored-value.ts';
import { outside } from './store/prisma/async-context.ts';
import type { PrismaClientLike, TransactionOf } from './store/prisma/client.ts';
import { Db } from './store/prisma/db.ts';
import { lostKeysOn } from './store/prisma/keys/lost-keys.ts';
import { prismaStore } from './store/prisma/store.ts';
import { TableNames, type Tables } from './store/prisma/tables.ts';

/**
 * Sets the kit up: once per app, on the client your app already has. From then on one intent has one effect and one
 * answer, because the key and your rows are written by one transaction.
 *
 * @throws ConfigurationError for a retention that is shorter than the window allows, a secret that can be guessed, or a
 *   table's name that cannot be used
 */
export function createIdempotency<Client extends PrismaClientLike>(
  options: Options & {
    /** Any Prisma >= 7 client for PostgreSQL, also an extended one. */
    prisma: Client;
    /** Where the kit's tables are, if they have names or a schema of their own. */
    tables?: Tables;
    /**
     * Whose transactions executions run in. Not set: the kit's own, on a connection of the client's pool, in which
     * everything is that a handler asks of this client, also by its global name; Prisma's interactive ones, in which what
     * goes through `tx` is, where the pool is not the kit's (`PrismaPg` of `oncekit/adapter-pg`, or `oncekitPool`), or the
     * client reads from replicas, has a `$transaction` of its own, or is none that the kit knows. `'interactive'`: Prisma's.
     * What a handler writes past its transaction is refused in either, unless it is in `outside`.
     */
    transaction?: 'interactive';
  },
): Idempotency<TransactionOf<Client>> {
  assertKnownOptions('createIdempotency', options, { prisma: true, tables: true, transaction: true, ...OPTIONS });
  const { prisma, tables, transaction } = options;
  // As the user's generated client makes them: it takes its class from the same module.
  reviveDecimalsAs((digits) => new Decimal(digits));
  const on = { tables, transaction };
  const idempotency = idempotencyOn(prismaStore(prisma, on), heardOutside(options), lostKeysOn(new Db(prisma, on)));
  return { ...idempotency, schemaName: () => new TableNames(prisma, tables).schema };
}

/** The app's hooks are no part of an execution's transaction. */
function heardOutside(options: Options): Options {
  const { log, onError, onPoint } = options;
  return {
    ...options,
    ...(log && { log: (entry) => outside(() => log(entry)) }),
    ...(onError && { onError: (error, context) => outside(() => onError(error, context)) }),
    ...(onPoint && { onPoint: (point, context) => outside(() => onPoint(point, context)) }),
  };
}

export { ADVICE, type Code, type Retry } from './core/codes.ts';
export {
  BadPayloadError,
  ConfigurationError,
  ExecutionClosedError,
  IdempotencyError,
  LeaseLostError,
} from './core/errors.ts';
export { derivedId } from './core/key.ts';
export { KEY_STATES, type KeyState, type KeyStateOrAbsent, type KeyStatus } from './core/key-state.ts';
export { type Executed, type Outcome, type Refusal, refuse, type Success } from './core/outcome.ts';
export type { Principal, PrincipalInput, Scope } from './core/scope.ts';
export { secretProblems } from './core/secret-strength.ts';
export type { AnswerOptions } from './engine/answer.ts';
export type { Run } from './engine/call-result.ts';
export type { CrashPoint, Options, SetUp } from './engine/config.ts';
export type { Admission, ExecuteRequest, OperationOptions, Refused, TransactionSettings } from './engine/definition.ts';
export { enteredValues } from './engine/execution.ts';
export type { Defer, Fail, FinalStatus, HandlerContext } from './engine/handler.ts';
export type { Idempotency } from './engine/idempotency.ts';
export type { AnswerToKeep } from './engine/kept.ts';
export type { ErrorContext, LogEntry } from './engine/log.ts';
export type { Operation, OperationBuilder } from './engine/operation.ts';
export type { Completed } from './engine/phases/completer.ts';
export type {
  ForeignCall,
  ForeignRequest,
  ForeignVerdict,
  LookedUp,
  PhasesContext,
  StepVersion,
} from './engine/phases/context.ts';
export { notExecuted, refused } from './engine/phases/thrown-verdict.ts';
export type { FenceResult, KeyRequest } from './engine/status.ts';
export { outside } from './store/prisma/async-context.ts';
export { isUnavailable } from './store/prisma/errors.ts';
export { type Sql, type SqlConnection, type SqlResult, serializeOn, sqlOf } from './store/prisma/handler-tx.ts';
export type { TableName, Tables } from './store/prisma/tables.ts';
export { oncekitPool } from './store/prisma/wire/pool.ts';
export type { SchemaPart, SchemaState, TriedClaim } from './store/store.ts';
