import { ConfigurationError } from '../core/errors.ts';
import { type ParsedKey, parseKey } from '../core/key.ts';
import type { KeyStatus } from '../core/key-state.ts';
import { listOf } from '../core/options.ts';
import { type Outcome, type Refusal, refuse } from '../core/outcome.ts';
import type { KeyId, Principal, PrincipalInput } from '../core/scope.ts';
import type { InputOf, OutputOf, StandardSchema } from '../core/standard-schema.ts';
import { type Durability, StoreUnavailableError } from '../store/store.ts';
import type { AnswerOptions } from './answer.ts';
import { RETRY_AFTER_MS, type Run } from './call-result.ts';
import type { Config } from './config.ts';
import { isLateCheck } from './deadline.ts';
import type { Definition, ExecuteRequest } from './definition.ts';
import type { Engine } from './engine.ts';
import { executeCall } from './execution.ts';
import type { HandlerContext } from './handler.ts';
import { identify, loggedKey, mintFor, whoActs } from './identity.ts';
import type { ErrorContext } from './log.ts';
import type { PhasesContext } from './phases/context.ts';
import { type FenceResult, fenceKey, type KeyRequest, statusOf } from './status.ts';
import type { IfStorable } from './stored-value.ts';

/** Something that is done once per key. Server actions, route handlers and jobs are ways to reach it. */
export interface Operation<Input, Result, Reason extends string = string> {
  readonly name: string;
  /** As it was defined. */
  readonly acceptKeys: 'minted' | 'any' | undefined;
  /** As it was defined. */
  readonly durability: Durability;
  /** Where the pages of the errors are, as configured. For adapters. */
  readonly errorPages: string | undefined;
  /** The names that it was defined with. For adapters. */
  readonly volatile: readonly string[];
  /** The header that has a caller's address, as it was configured. */
  readonly addressHeader: string | undefined;
  /**
   * Runs it once for this key, or answers with what the first run came to. Expected failures are values; it throws
   * only for a kit that is set up wrongly.
   */
  execute(request: ExecuteRequest & { payload: Input | FormData }): Promise<Outcome<Result, Reason>>;
  /** `execute` for adapters: with the redirect, the status and what was thrown. */
  run(request: ExecuteRequest): Promise<Run<Result>>;
  /** A fresh key for whoever acts now, or null when nobody does. */
  mintKey(who?: PrincipalInput): Promise<string | null>;
  /** Returns who acts now, or null when nobody does. For adapters. */
  whoActs(): Promise<Principal | null>;
  /** Reads the state of a key of one's own. Changes nothing. */
  status(request: KeyRequest): Promise<KeyStatus<Result> | Refusal>;
  /** `Idempotency.explainMissing`, of the same instance. For adapters. */
  explainMissing(asked: AskedKey): Promise<string | undefined>;
  /** Passes an error that came after the effect on to `onError`, under the name that it returns. For adapters. */
  report(error: unknown, context: Pick<ErrorContext, 'key' | 'during'>): string;
  /** Gives a key up for good, unless it runs or has run. */
  fence(request: KeyRequest): Promise<FenceResult<Result> | Refusal>;
  /** The same work under another name, whose keys are keys of their own: one for forms, one for the API. */
  as(name: string): Operation<Input, Result, Reason>;
}

/** An operation that lacks only what it does. */
export interface OperationBuilder<S extends StandardSchema, Tx, Reason extends string = string> {
  /** Sets the function that runs in one transaction with the key. It returns plain data, which is stored and replayed. */
  handler<Result, To extends string = string>(
    handle: ((context: HandlerContext<OutputOf<S>, Tx, Reason>) => Promise<Result>) & IfStorable<Result>,
    options?: AnswerOptions<Result, To>,
  ): Operation<InputOf<S>, Result, Reason>;
  /**
   * Sets the function where an effect lies outside the database: atomic phases and foreign calls between them. It ends in a
   * definite state wherever a process dies; a worker finishes it without the client. Return plain data.
   */
  phases<Result, To extends string = string>(
    run: ((context: PhasesContext<OutputOf<S>, Tx, Reason>) => Promise<Result>) & IfStorable<Result>,
    options?: AnswerOptions<Result, To>,
  ): Operation<InputOf<S>, Result, Reason>;
}

export function defineOperation<Tx, Input, Result>(
  engine: Engine<Tx>,
  definition: Definition<Tx>,
): Operation<Input, Result> {
  const { name } = definition.options;
  assertNew(engine, definition);
  engine.definitions.set(name, definition);
  if (definition.phases) engine.registry.set(name, definition);
  const report: Operation<Input, Result>['report'] = (error, context) =>
    engine.config.onError(error, { operation: name, ...context });
  const operation: Operation<Input, Result> = {
    name,
    acceptKeys: definition.options.acceptKeys,
    durability: definition.options.durability ?? 'local',
    errorPages: engine.config.errorPages,
    addressHeader: engine.config.addressHeader,
    volatile: listOf(definition.options.volatile) ?? [],
    run: (request) => executeCall<Tx, Result>(engine, definition, request),
    execute: (request) => executeCall<Tx, Result>(engine, definition, request).then(({ outcome }) => outcome),
    mintKey: async (given) => {
      const who = await whoActs(engine.config, given);
      return who && mintFor(engine.config, name, who);
    },
    whoActs: async () => await whoActs(engine.config, undefined),
    status: (request) => failClosed(request, report, () => statusOf<Tx, Result>(engine, definition, request)),
    fence: (request) => failClosed(request, report, () => fenceKey<Tx, Result>(engine, definition, request)),
    explainMissing: (asked) => explainMissing(engine, asked),
    report,
    as: (other) => defineOperation(engine, { ...definition, options: { ...definition.options, name: other } }),
  };
  engine.operations.set(name, operation);
  return operation;
}

/** A key is unique within its operation's name: the caller of a second one would be given the first one's answers (K4). */
function assertNew<Tx>(engine: Engine<Tx>, definition: Definition<Tx>): void {
  const { config, definitions } = engine;
  const { options } = definition;
  const known = definitions.get(options.name);
  if (config.redefine === 'edited') watchTurn(engine, options.name);
  if (!known || config.redefine === true) return;
  // The same under the same name, such as a second `.as(name)`.
  if (known.options.schema === options.schema && workOf(known) === workOf(definition)) return;
  if (config.redefine === 'edited' && mayBeEdited(engine, known, definition)) return;
  throw new ConfigurationError(
    `There are two operations of the name ${options.name}, so that one would answer for the other. Rename one of them. If it is one that was defined twice, define it once in a plain module; for an instance on globalThis, which several evaluations of your modules share, say \`redefine: true\`.`,
    { existing: options.name, expected: 'a name of its own for each operation' },
  );
}

const workOf = <Tx>({ handler, phases }: Definition<Tx>) => handler ?? phases;

/** Remembers a name until the modules that are being evaluated are through: an edit evaluates each of them once. */
function watchTurn<Tx>({ definedNow, definitions }: Engine<Tx>, name: string): void {
  if (definitions.has(name)) return;
  definedNow.add(name);
  setImmediate(() => definedNow.delete(name)).unref();
}

/** False where one evaluation has defined both. Of one text they are one module, which was evaluated for two bundles. */
function mayBeEdited<Tx>({ definedNow }: Engine<Tx>, known: Definition<Tx>, edited: Definition<Tx>): boolean {
  return !definedNow.has(edited.options.name) || String(workOf(known)) === String(workOf(edited));
}

/** Fail closed (C6): a database that cannot be asked is a value like any other refusal, and so is a time that is up. */
async function failClosed<T>(
  { key }: KeyRequest,
  report: Operation<never, never>['report'],
  ask: () => Promise<T>,
): Promise<T | Refusal> {
  try {
    return await ask();
  } catch (error) {
    const where = { key: loggedKey(key) };
    if (error instanceof StoreUnavailableError) report(error.cause, { ...where, during: 'database' });
    else if (isLateCheck(error)) report(error, { ...where, during: 'checks' });
    else throw error;
    return refuse('unavailable', { retryAfterMs: RETRY_AFTER_MS });
  }
}

/** A key, and the operation in its address. */
type AskedKey = Pick<KeyId, 'operation' | 'key'>;

/** Strangers who make names up fill neither log nor memory. */
const MAX_REPORTED = 100;

/**
 * Says that a key is asked for whose operation is not known here: its module is not imported, or it is missing in a list. Proven
 * where this app has signed the key for it and for who asks, which strangers cannot make up; then it is said in production, too,
 * on the console and to the log. Once for each operation.
 *
 * @returns the words for a developer; undefined where it may be anybody's name, where `scope` throws, and once so many were told
 */
export async function explainMissing<Tx>(
  { config, operations, missing: reported }: Engine<Tx>,
  { operation, key }: AskedKey,
): Promise<string | undefined> {
  const parsed = parseKey(key);
  const { shape } = parsed;
  if ((shape !== 'signed' && shape !== 'unsigned') || reported.size >= MAX_REPORTED) return undefined;
  // A scope that throws shows where an operation is known. Here it is no reason for an error: the answer is "not found".
  const who = await (async () => whoActs(config, undefined))().catch(() => null);
  if (!who || !isSignedHere(config.secrets, { operation, key, parsed }, who)) return undefined;
  const words = operations.has(operation)
    ? `The status route is asked about keys of ${operation}, which is not in its list. Add it there, or write statusRoute(idempotency), which knows all that were imported.`
    : `The status route is asked about keys of ${operation}, and its bundle has no operation of that name. Import the module that defines it in lib/operations, and that in the route.`;
  if (reported.has(operation)) return words;
  reported.add(operation);
  console.error(`[oncekit] ${words} Until then its forms cannot learn what became of a lost answer.`);
  config.log?.({ level: 'error', msg: 'the status route does not know an operation', operation, key });
  return words;
}

/** Without a secret, in development alone, any key that could have been minted here counts. */
function isSignedHere(
  secrets: Config['secrets'],
  { operation, key, parsed }: AskedKey & { parsed: ParsedKey },
  who: Principal,
): boolean {
  if (!secrets.first) return parsed.shape === 'unsigned' && process.env.NODE_ENV === 'development';
  return identify(key, parsed, operation, who, { secrets, acceptKeys: 'minted' }) !== undefined;
}
