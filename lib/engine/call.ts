import { canonicalText } from '../core/canonical.ts';
import { type Fingerprint, fingerprint } from '../core/fingerprint.ts';
import { type Executed, type Refusal, refuse } from '../core/outcome.ts';
import type { Principal } from '../core/scope.ts';
import type { StandardSchema } from '../core/standard-schema.ts';
import type { Store } from '../store/store.ts';
import type { Config } from './config.ts';
import type { ExecuteRequest, OperationOptions } from './definition.ts';
import type { Flights } from './flights.ts';
import type { HandlerContext } from './handler.ts';
import { type Identity, identify, mintFor, readKey, whoActs } from './identify.ts';
import type { WaitingSlots } from './slots.ts';

/** What every operation of one app shares. */
export interface Engine<Tx> {
  readonly store: Store<Tx>;
  readonly config: Config;
  readonly flights: Flights;
  readonly slots: WaitingSlots;
}

/** What an operation is and does. */
export interface Definition<Tx> {
  readonly options: OperationOptions<StandardSchema, Tx>;
  readonly handler: (context: HandlerContext<never, Tx>) => Promise<unknown>;
}

/** One call of an operation whose key, principal and payload have been read. */
export interface Call<Tx> extends Identity {
  readonly engine: Engine<Tx>;
  readonly definition: Definition<Tx>;
  readonly request: ExecuteRequest;
  readonly canonical: string;
  readonly fingerprint: Fingerprint;
  readonly nextKey: string;
  readonly waitMs: number;
  /** When the caller's time is up, in milliseconds of `performance.now()`. */
  readonly deadline: number;
  /** What a refusal may say of the key before anything was claimed: a retry's first attempt may have run. */
  readonly unclaimed: Executed;
}

/**
 * The first checks, in the order of O1: the key's syntax, who acts, whether the key is theirs, the fingerprint.
 *
 * @throws BadPayloadError when the payload has no one canonical form
 */
export async function openCall<Tx>(
  engine: Engine<Tx>,
  definition: Definition<Tx>,
  request: ExecuteRequest,
): Promise<Call<Tx> | Refusal> {
  const { config } = engine;
  const { name, volatile, fingerprint: narrow } = definition.options;
  const key = readKey(request.key);
  if ('refusal' in key) return key.refusal;
  const unclaimed: Executed = (request.attempt ?? 1) > 1 ? 'unknown' : false;

  const who: Principal | null = await whoActs(config, request.scope);
  if (!who) return refuse('unauthorized', { executed: unclaimed });
  const nextKey = mintFor(config, name, who);
  const identity = identify(request.key as string, key.parsed, name, who, {
    secrets: config.secrets,
    acceptKeys: request.acceptKeys ?? 'any',
  });
  if (!identity) return refuse('key_invalid', { executed: 'unknown', nextKey });

  const payload = narrow ? narrow(request.payload) : request.payload;
  const own = await canonicalText(payload, new Set(volatile));
  const canonical = request.context?.length ? `${own}\n${await canonicalText(request.context)}` : own;
  const started = performance.now();
  return {
    ...identity,
    engine,
    definition,
    request,
    canonical,
    fingerprint: fingerprint(canonical, identity.id.tenant, config.secrets),
    nextKey,
    waitMs: Math.min(request.waitMs ?? config.waitMs, request.deadlineMs ?? Infinity),
    deadline: started + (request.deadlineMs ?? Infinity),
    unclaimed,
  };
}
