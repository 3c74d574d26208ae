import type { Indeterminate } from '../../core/foreign.ts';

/** The argument of a call to a foreign system. */
export interface ForeignRequest {
  /** The derived key: the same for every send of this step, by whatever process. Hand it to the provider. */
  idempotencyKey: string;
  /** Aborted when there is no more time, or the lease is lost. Hand it to the HTTP client. */
  signal: AbortSignal;
  /** How many milliseconds this call may take: less than the caller has left. */
  deadlineMs: number;
  /**
   * The same as headers, for systems that understand them: `Idempotency-Key`, `X-Request-Timeout` in milliseconds,
   * and `X-Retry-Layer: none`, because this call is sent again from here.
   */
  headers: Readonly<Record<string, string>>;
}

/** A provider's answer to a look-up: the call's result, that it knows nothing of it, or "ask later". */
export type LookedUp<R> = { found: R } | 'absent' | 'pending';

/**
 * The proof that an error of a send is. Anything that is not certain is `indeterminate`: a lost connection, a time-out, a 5xx,
 * a key in use or with other parameters.
 */
export type ForeignVerdict<Reason extends string = string> =
  | 'indeterminate'
  /** Nothing was done, for certain: the provider said so (429), or the connection was refused. Sent again. */
  | 'not_executed'
  /** A send cannot tell: "already done", or a stored error that is replayed. The provider is asked. */
  | 'look_up'
  /** Declared by you as final: the key ends in this stored refusal. A declined card. */
  | { refuse: Reason; data?: unknown; status?: number; message?: string };

/** A call that changes something in a foreign system. */
export interface ForeignCall<Arguments, R, Reason extends string = string> {
  /** Plain data, stored before the first send. A later run sends the stored ones, whatever is given then. */
  arguments: Arguments;
  /** Does it. Returns plain data, which is stored. */
  send(stored: Arguments, request: ForeignRequest): Promise<R>;
  /** Asks whether it was done. */
  lookup?(stored: Arguments, request: ForeignRequest): Promise<LookedUp<R>>;
  /**
   * Makes the result of what a person has found: an id that the provider shows. Default: `lookup` must find it. With
   * neither, nobody can say of an unknown call that it went through.
   */
  fromReference?(reference: string, request: ForeignRequest): Promise<R>;
  /** The move when the outcome of a send is not known. */
  indeterminate: Indeterminate;
  /** Judges an error of `send`. Default: it proves nothing, `indeterminate`. */
  judge?(error: unknown): ForeignVerdict<Reason>;
  /** For how long the provider remembers the derived key, in milliseconds. Default 0: it honours no keys. */
  providerKeyTtlMs?: number;
  /** How long after a send "absent" may still mean "not yet", in milliseconds. Default 60,000. */
  settleMs?: number;
  /** How long one send or look-up may take, in milliseconds. Default 10,000; never more than is left. */
  timeoutMs?: number;
  /** How often it is sent or asked within one run. Default 4. */
  maxTries?: number;
  /** The system it depends on. Calls that share the name share a circuit breaker. Default: none. */
  dependency?: string;
}
