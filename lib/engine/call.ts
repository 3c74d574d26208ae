import { type CanonicalTexts, canonicalText, canonicalTexts, MAX_VALUES } from '../core/canonical.ts';
import type { Code } from '../core/codes.ts';
import { type BadPayloadError, isBadPayload } from '../core/errors.ts';
import { type Fingerprint, fingerprint } from '../core/fingerprint.ts';
import { formValues } from '../core/form-values.ts';
import { listOf, returned } from '../core/options.ts';
import { executedBy, type Proof, proofOfCall, type Refusal, refuse } from '../core/outcome.ts';
import { formBeyondLimits, MAX_ITEMS, unfitValue, VALUES_PER_ITEM } from '../core/payload-limits.ts';
import { type NameOf, type StandardSchema, validate } from '../core/standard-schema.ts';
import { type Awaitable, isPromised, proceed } from '../core/wait.ts';
import type { Store } from '../store/store.ts';
import { beforeDeadline } from './deadline.ts';
import type { Definition, ExecuteRequest, OperationOptions } from './definition.ts';
import type { Engine } from './engine.ts';
import { type ResolvedKey, resolveKey } from './identity.ts';

/** Returns the store; none of its questions outlasts the call. */
export function storeFor<Tx>({ engine, deadline }: Pick<Call<Tx>, 'engine' | 'deadline'>): Store<Tx> {
  return deadline === Number.POSITIVE_INFINITY ? engine.store : engine.store.until(deadline);
}

/** One call of an operation whose key, principal and payload have been read. */
export interface Call<Tx> extends ResolvedKey {
  readonly engine: Engine<Tx>;
  readonly definition: Definition<Tx>;
  readonly request: ExecuteRequest;
  /** The proof of the key's effect before a row is seen. */
  proof: Proof;
  /** In phases: it has claimed the key, so its answer is the first, whatever it is. */
  hasClaimed?: boolean;
  readonly canonical: CanonicalTexts;
  readonly fingerprint: Fingerprint;
  readonly waitMs: number;
  /** When the caller's time is up, in milliseconds of `performance.now()`. */
  readonly deadline: number;
}

/**
 * Reads the key, who acts and the payload, in the order of O1. Returns without waiting where nothing must be waited for: who
 * acts is known, and the payload is there and no form.
 */
export function openCall<Tx>(
  engine: Engine<Tx>,
  definition: Definition<Tx>,
  request: ExecuteRequest,
): Awaitable<Call<Tx> | Refusal> {
  const deadline = performance.now() + (request.deadlineMs ?? Infinity);
  const proof = proofOfCall(request);
  const { key, keyless, scope, acceptKeys } = request;
  const operation = definition.options.name;
  const asked = { key, keyless, scope, acceptKeys, operation, proof, deadline };
  const opening = { engine, definition, request, proof, deadline };
  return proceed(resolveKey(engine.config, asked), (resolved) =>
    'ok' in resolved ? resolved : openResolved(resolved, opening),
  );
}

/** The parts of a call that are there before its key and its payload have been read. */
type Opening<Tx> = Pick<Call<Tx>, 'engine' | 'definition' | 'request' | 'proof' | 'deadline'>;

function openResolved<Tx>(resolved: ResolvedKey, opening: Opening<Tx>): Awaitable<Call<Tx> | Refusal> {
  const { engine, definition, request, proof, deadline } = opening;
  // A form is counted before `fingerprint` and the schema look at it.
  const beyond = request.payload instanceof FormData ? formBeyondLimits(request.payload) : undefined;
  if (beyond) return refusePayload(resolved, proof, beyond, beyond.message);
  return proceed(beforeDeadline(readPayload(definition.options, request), deadline), (read): Call<Tx> | Refusal => {
    // A developer's message of an API is no sentence for a person's form.
    const isForApi = request.read && !(request.payload instanceof FormData);
    if (isBadPayload(read)) return refusePayload(resolved, proof, read, isForApi ? read.message : undefined);
    const { id, mintedAt, nextKey, who } = resolved;
    const { whole, canonical } = read;
    const { config } = engine;
    // Every call passes here, and to spread so many fields costs as much as all of its replay from memory.
    return {
      id,
      mintedAt,
      nextKey,
      who,
      engine,
      definition,
      request: whole,
      proof,
      canonical,
      fingerprint: fingerprint({ canonical, method: request.method }, id.tenant, config.secrets),
      waitMs: Math.min(request.waitMs ?? config.waitMs, request.deadlineMs ?? Infinity),
      deadline,
    };
  });
}

function refusePayload(
  { id, nextKey }: ResolvedKey,
  proof: Proof,
  { code }: BadPayloadError,
  message: string | undefined,
): Refusal {
  const words = message === undefined ? {} : { message };
  return refuse(code, { executed: executedBy(proof), ...words, key: id.key, nextKey });
}

type PayloadOptions = Pick<
  OperationOptions<StandardSchema, never>,
  'name' | 'schema' | 'fingerprint' | 'volatile' | 'maxItems'
>;

/** Returns the payload and its canonical texts; or, as a value, the error that says that it has none. */
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

/** Returns the request with its payload, and that in canonical form. */
function canonicalOf(
  { name, fingerprint: narrow, volatile, maxItems = MAX_ITEMS }: PayloadOptions,
  whole: ExecuteRequest,
) {
  const payload = narrow ? returned(`fingerprint of ${name}`, narrow(whole.payload)) : whole.payload;
  const maxValues = Math.max(MAX_VALUES, maxItems * VALUES_PER_ITEM);
  return proceed(canonicalTexts(payload, listOf(volatile), maxValues), (canonical) => {
    const { context } = whole;
    if (!context?.length) return { whole, canonical };
    // No text holds a line break of its own: JSON writes it as \n.
    const bound = (more: string) => canonical.map((text) => `${text}\n${more}`) as [string, string?];
    return proceed(canonicalText(context), (more) => ({ whole, canonical: bound(more) }));
  });
}

type ReadPayload = Awaited<ReturnType<typeof canonicalOf>>;

function badPayload(error: unknown): BadPayloadError {
  if (!isBadPayload(error)) throw error;
  return error;
}

/** The handler's input, or why there is none. */
type Checked =
  | { ok: true; value: unknown }
  | { ok: false; code: Code; details: Partial<Pick<Refusal, 'fieldErrors' | 'message'>> };

/** Asks the schema, within the limits of what it is asked about. What it refuses is told only where no row decides (O2). */
export function checkInput<Tx>({ definition: { options }, request }: Call<Tx>): Awaitable<Checked> {
  const given = schemaInput(options, request);
  if (isBadPayload(given)) return { ok: false, code: given.code, details: { message: given.message } };
  return proceed(validate(options.schema, given.values, given.nameOf), (validated) =>
    validated.ok ? validated : { ok: false, code: 'validation', details: { fieldErrors: validated.fieldErrors } },
  );
}

/** Returns the schema's input, of a form with its fields' names; or, as a value, the error that says why it is not asked. */
function schemaInput(
  { schema, maxItems = MAX_ITEMS }: PayloadOptions,
  { payload, input = payload }: ExecuteRequest,
): { values: unknown; nameOf?: NameOf } | BadPayloadError {
  try {
    const given = input instanceof FormData ? formValues(input, schema) : { values: input };
    return unfitValue(given.values, maxItems) ?? given;
  } catch (error) {
    return badPayload(error);
  }
}

/** Names a call for logs, hooks and crash points. */
export function pointOf<Tx>({ id }: Call<Tx>): { operation: string; key: string } {
  return { operation: id.operation, key: id.key };
}
