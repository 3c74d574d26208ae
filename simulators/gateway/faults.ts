import { z } from 'zod';

/** The faults the gateway can play, and which request gets which. */

const KINDS = [
  'latency',
  'lose-answer',
  'error-before',
  'error-after',
  'decline',
  'rate-limit',
  'lock-timeout',
  'down',
] as const;
export type FaultKind = (typeof KINDS)[number];

const whole = (name: string, min: number, max: number) => {
  const error = `"${name}" must be a whole number from ${min} to ${max}.`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};

const FIELDS = {
  kind: z.enum(KINDS, { error: `"kind" must be one of: ${KINDS.join(', ')}.` }),
  /** A prefix. */
  path: z
    .string({ error: '"path" must be a string.' })
    .regex(/^\/v1(\/[^?*]*)?$/, { error: '"path" must be a prefix that starts with "/v1", with no query and no "*".' })
    .default('/v1'),
  method: z.enum(['GET', 'POST', 'DELETE'], { error: '"method" must be GET, POST or DELETE.' }).optional(),
  times: whole('times', 1, 1_000_000).default(1),
  /** How late a `latency` answer is, or how long a `down` lasts from now on. Milliseconds. */
  ms: whole('ms', 1, 3_600_000).optional(),
};

/** The body of `POST /_faults`. An unknown field is refused: it is a typo. */
export const faultInput = z
  .strictObject(FIELDS, {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? `Unknown field. Known: ${Object.keys(FIELDS).join(', ')}.`
        : 'The body must be a JSON object.',
  })
  .refine(({ kind, ms }) => kind !== 'latency' || ms !== undefined, { error: '"latency" needs "ms".' })
  .refine(({ kind, path }) => kind !== 'decline' || reachesCharges(path), {
    error: '"decline" needs a "path" that charges a card: a prefix of, or below, "/v1/payment_intents".',
  });
export type FaultInput = z.infer<typeof faultInput>;

export interface Fault extends FaultInput {
  id: number;
  /** How many requests it still hits. A spent fault stays listed, with 0. */
  remaining: number;
  /** When a `down` ends, in milliseconds since 1970; null: with `DELETE /_faults`. */
  until: number | null;
}

/** Conditions of a fault on a request. */
interface Hit {
  method: string;
  path: string;
  /** It is not answered from its idempotency key. */
  runs: boolean;
  charges: boolean;
}

export class FaultList {
  #faults: Fault[] = [];
  #lastId = 0;

  add(input: FaultInput, now: number): Fault {
    const until = input.kind === 'down' && input.ms !== undefined ? now + input.ms : null;
    const fault = { id: ++this.#lastId, ...input, remaining: input.times, until };
    this.#faults.push(fault);
    return fault;
  }

  list(): readonly Fault[] {
    return this.#faults;
  }

  clear(): void {
    this.#faults = [];
  }

  isDown(method: string, path: string, now: number): boolean {
    return this.#faults.some(
      (each) => each.kind === 'down' && (each.until === null || now < each.until) && fits(each, method, path),
    );
  }

  /**
   * The oldest fault that fits and is not spent, counted down by one. A `decline` waits for a request that charges a
   * card, an `error-after` for one that runs: spent on a replay they would not happen at all.
   */
  take({ method, path, runs, charges }: Hit): Fault | undefined {
    const fault = this.#faults.find(
      (each) =>
        each.kind !== 'down' &&
        each.remaining > 0 &&
        fits(each, method, path) &&
        (each.kind !== 'error-after' || runs) &&
        (each.kind !== 'decline' || (runs && charges)),
    );
    if (fault) fault.remaining -= 1;
    return fault;
  }
}

function fits(fault: Fault, method: string, path: string): boolean {
  return path.startsWith(fault.path) && (fault.method === undefined || fault.method === method);
}

function reachesCharges(path: string): boolean {
  return '/v1/payment_intents'.startsWith(path) || path.startsWith('/v1/payment_intents');
}
