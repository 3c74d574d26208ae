import { canonicalText } from '../core/canonical.ts';
import { type BadPayloadError, isBadPayload } from '../core/errors.ts';
import { type Fingerprint, fingerprint } from '../core/fingerprint.ts';
import { parseKey } from '../core/key.ts';
import { type Refusal, refuse } from '../core/outcome.ts';
import { formBeyondLimits } from '../core/payload-limits.ts';
import { executedBy, type Proof, proofOfCall } from '../core/proof.ts';
import type { Principal } from '../core/scope.ts';
import type { StandardSchema } from '../core/standard-schema.ts';
import { type Awaitable, isPromised, proceed } from '../core/wait.ts';
import type { Store } from '../store/store.ts';
import { beforeDeadline } from './deadline.ts';
import type { Definition, ExecuteRequest, OperationOptions } from './definition.ts';
import type { Engine } from './engine.ts';
import { type Identity, identify, mintFor, readKey, whoActs } from './identity.ts';

/** The store, of which no question outlasts the call. */
export function storeFor<Tx>({ engine, deadline }: Pick<Call<Tx>, 'engine' | 'deadline'>): Store<Tx> {
  return deadline === Number.POSITIVE_INFINITY ? engine.store : engine.store.until(deadline);
}

/** One call of an operation whose key, principal and payload have been read. */
export interface Call<Tx> extends Identity {
  readonly engine: Engine<Tx>;
  readonly definition: Definition<Tx>;
  readonly request: ExecuteRequest;
  /** What is known of the key's effect before a row is seen. */
  proof: Proof;
  readonly canonical: string;
  readonly fingerprint: Fingerprint;
  readonly nextKey: string;
  readonly waitMs: number;
  /** When the caller's time is up, in milliseconds of `performance.now()`. */
  readonly deadline: number;
}

/** A call of which nobody knows yet whose it is. */
type Begun<Tx> = Pick<Call<Tx>, 'engine' | 'definition' | 'request' | 'proof' | 'deadline'>;

/**
 * The first checks, in the order of O1: the key's syntax, who acts, whether the key is theirs, the fingerprint. At once
 * where nothing must be waited for: who acts is known, and the payload is there and no form.
 */
export function openCall<Tx>(
  engine: Engine<Tx>,
  definition: Definition<Tx>,
  request: ExecuteRequest,
): Awaitable<Call<Tx> | Refusal> {
  const deadline = performance.now() + (request.deadlineMs ?? Infinity);
  const begun = { engine, definition, request, proof: proofOfCall(request), deadline };
  const given = request.keyless ? undefined : readKey(request.key, begun.proof);
  const who = beforeDeadline(whoActs(engine.config, request.scope), deadline);
  return proceed(who, (known) => openFor(known, given, begun));
}

function openFor<Tx>(
  who: Principal | null,
  given: ReturnType<typeof readKey> | undefined,
  { engine, definition, request, proof, deadline }: Begun<Tx>,
): Awaitable<Call<Tx> | Refusal> {
  const { config } = engine;
  const { name } = definition.options;
  const executed = executedBy(proof);
  if (given && 'refusal' in given) {
    return who ? { ...given.refusal, nextKey: mintFor(config, name, who) } : given.refusal;
  }
  if (!who) return refuse('unauthorized', { executed });
  const nextKey = mintFor(config, name, who);
  const key = given ? (request.key as string) : mintFor(config, name, who);
  const accept = { secrets: config.secrets, acceptKeys: request.acceptKeys ?? 'any' } as const;
  const identity = identify(key, given?.parsed ?? parseKey(key), name, who, accept);
  if (!identity) return refuse('key_invalid', { nextKey });
  const { id, mintedAt } = identity;

  // Before anybody else looks at it, `fingerprint` and the schema included.
  const beyond = request.payload instanceof FormData ? formBeyondLimits(request.payload) : undefined;
  if (beyond) return refuse(beyond.code, { executed, message: beyond.message, key: id.key, nextKey });
  return proceed(beforeDeadline(readPayload(definition.options, request), deadline), (read): Call<Tx> | Refusal => {
    if (isBadPayload(read)) {
      // What a developer is told at an API is no sentence for a person's form.
      const words = request.read ? { message: read.message } : {};
      return refuse(read.code, { executed, ...words, key: id.key, nextKey });
    }
    const { whole, canonical } = read;
    return {
      id,
      mintedAt,
      engine,
      definition,
      request: whole,
      proof,
      canonical,
      fingerprint: fingerprint(canonical, id.tenant, config.secrets),
      nextKey,
      waitMs: Math.min(request.waitMs ?? config.waitMs, request.deadlineMs ?? Infinity),
      deadline,
    };
  });
}

interface ReadPayload {
  /** The request with its payload. */
  readonly whole: ExecuteRequest;
  readonly canonical: string;
}

type PayloadOptions = Pick<OperationOptions<StandardSchema, never>, 'fingerprint' | 'volatile'>;

/** The payload and its canonical text; or the error that says that it has none, whether that comes at once or later. */
function readPayload(options: PayloadOptions, request: ExecuteRequest): Awaitable<ReadPayload | BadPayloadError> {
  try {
    const read = request.read
      ? proceed(request.read(), (given) => canonicalOf(options, { ...request, ...given }))
      : canonicalOf(options, request);
    return isPromised(read) ? read.then(undefined, badPayload) : read;
  } catch (error) {
    return badPayload(error);
  }
}

function canonicalOf({ fingerprint: narrow, volatile }: PayloadOptions, whole: ExecuteRequest): Awaitable<ReadPayload> {
  const payload = narrow ? narrow(whole.payload) : whole.payload;
  return proceed(canonicalText(payload, volatile && new Set(volatile)), (canonical) => {
    const { context } = whole;
    if (!context?.length) return { whole, canonical };
    // Neither text holds a line break of its own: JSON writes it as \n.
    return proceed(canonicalText(context), (text) => ({ whole, canonical: `${canonical}\n${text}` }));
  });
}

function badPayload(error: unknown): BadPayloadError {
  if (!isBadPayload(error)) throw error;
  return error;
}

/** What a log, a hook or a crash point is told of a call. */
export function pointOf<Tx>({ id }: Call<Tx>): { operation: string; key: string } {
  return { operation: id.operation, key: id.key };
}
