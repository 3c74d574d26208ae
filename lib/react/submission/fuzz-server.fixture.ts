import fc from 'fast-check';
import { uuidV7 } from '../../core/issued-key.ts';
import { parseKey } from '../../core/key.ts';
import { type Outcome, refuse } from '../../core/outcome.ts';
import { online } from './submission.fixture.ts';

/** How one attempt goes: whether it arrives, what the server makes of it, whether its answer comes back, and when. */
export const journey = fc.record({
  toMs: fc.constantFrom(0, 50, 700, 3000),
  runMs: fc.constantFrom(0, 300, 4000),
  backMs: fc.constantFrom(0, 50, 2000),
  fate: fc.constantFrom(
    ...(['done', 'done', 'failed', 'transient', 'internal', 'rejected', 'expired', 'redirected', 'sign in'] as const),
  ),
  lost: fc.constantFrom('no', 'no', 'no', 'request', 'answer', 'while it runs'),
});
export type Journey = typeof journey extends fc.Arbitrary<infer J> ? J : never;

const SMOOTH: Journey = { toMs: 0, runMs: 0, backMs: 0, fate: 'done', lost: 'no' };

/** The server's knowledge of a key, and the requests under way for it. */
interface Fate {
  state: 'absent' | 'in_progress' | 'succeeded' | 'failed' | 'abandoned';
  note: string;
  inTheAir: number;
  isExpired: boolean;
  redirect?: string;
  /** A page has shown how it ended. */
  isTold: boolean;
  settledAt?: Date;
  /** The entry of the history from which it was sent last. */
  entry?: string;
  /** A page has said that nobody knows. */
  isInDoubt?: boolean;
}

/** As a server action's promise ends, in Next. */
const REDIRECT = Object.assign(new Error('redirect'), { digest: 'NEXT_REDIRECT;push;/orders/1;303;' });

const later = (ms: number) => new Promise<void>((go) => setTimeout(go, ms));

/** A server and the network to it, of which the first attempts go as the journeys say, and all others well. */
export class FuzzServer {
  /** Nothing that is sent from now on arrives. */
  isDown = false;
  /** And a proxy answers, which wants a sign-in. */
  isShut = false;
  private readonly fates = new Map<string, Fate>();

  constructor(private journeys: Journey[]) {}

  mint(): string {
    return uuidV7(Date.now());
  }

  of(key: string): Fate {
    const fate = this.fates.get(key) ?? { state: 'absent', note: '', inTheAir: 0, isExpired: false, isTold: false };
    this.fates.set(key, fate);
    return fate;
  }

  /** Why a page must not forget the key yet; null if it may. `visit`: the page that a person has come to. */
  whyKept(key: string, visit?: { initialKey: string; entry: string }): string | null {
    const { state, isTold, isExpired, inTheAir, settledAt, entry, isInDoubt } = this.of(key);
    const parsed = parseKey(visit?.initialKey ?? '');
    const isLater = settledAt && 'mintedAt' in parsed && parsed.mintedAt > settledAt;
    const isAnew = isLater && entry !== visit?.entry && !isInDoubt;
    const isSafe = isTold || isAnew || state === 'abandoned' || (state === 'absent' && (isExpired || inTheAir === 0));
    return isSafe ? null : `${key}: ${state}, ${inTheAir} in the air`;
  }

  /** From now on everything goes well. */
  calm(): void {
    this.isDown = this.isShut = false;
    this.journeys = [];
  }

  /** One attempt, as a server action gives it. */
  async send(key: string, note: string): Promise<Outcome<string>> {
    const way = this.journeys.shift() ?? SMOOTH;
    const arrives = way.lost !== 'request' && this.isReachable();
    this.of(key).inTheAir++;
    await later(way.toMs);
    const result = arrives ? this.receive(key, note, way).catch(() => REDIRECT) : Promise.resolve(null);
    void result.then(() => this.of(key).inTheAir--);
    const outcome = way.lost === 'while it runs' ? null : await result;
    await later(way.backMs);
    if (!outcome || way.lost === 'answer') throw new TypeError('Failed to fetch');
    if (outcome instanceof Error) throw outcome;
    return outcome;
  }

  /** The status route. */
  async ask(url: string, { method }: RequestInit): Promise<Response> {
    await later(30);
    if (this.isShut && online.onLine) return new Response('<h1>Sign in</h1>', { status: 401 });
    if (!this.isReachable()) throw new TypeError('Failed to fetch');
    if (method === 'HEAD') return new Response();
    const key = String(url.split('/').pop());
    const fate = this.of(key);
    if (method === 'DELETE' && fate.isExpired) return Response.json({ code: 'key_expired', nextKey: this.mint() });
    if (method === 'DELETE' && fate.state === 'absent')
      Object.assign(fate, { state: 'abandoned', settledAt: new Date() });
    if (method === 'DELETE' && fate.state === 'abandoned') {
      return Response.json({ state: fate.state, nextKey: this.mint() });
    }
    const { state, redirect, settledAt } = fate;
    const outcome = this.stored(key);
    return Response.json({ state, outcome, redirect, settledAt, nextKey: this.mint(), retryAfterMs: 200 });
  }

  private isReachable(): boolean {
    return !this.isDown && !this.isShut && online.onLine;
  }

  private async receive(key: string, note: string, { runMs, fate }: Journey): Promise<Outcome<string>> {
    const known = this.of(key);
    const more = { executed: false, key, nextKey: this.mint() } as const;
    if (known.state === 'in_progress') return refuse('in_flight', { ...more, executed: 'unknown' });
    if (known.state === 'succeeded' || known.state === 'failed') {
      if (known.note !== note) return refuse('payload_mismatch', more);
      if (known.redirect) throw REDIRECT;
      return this.stored(key) as Outcome<string>;
    }
    if (known.state === 'abandoned') return this.stored(key) as Outcome<string>;
    known.isExpired ||= fate === 'expired';
    if (known.isExpired) return refuse('key_expired', more);
    if (fate === 'rejected') return refuse('validation', more);
    if (fate === 'internal') return refuse('internal', more);
    if (fate === 'sign in') throw REDIRECT;
    Object.assign(known, { state: 'in_progress', note });
    await later(runMs);
    known.state = fate === 'transient' ? 'absent' : fate === 'failed' ? 'failed' : 'succeeded';
    if (known.state !== 'absent') known.settledAt = new Date();
    if (fate === 'redirected') known.redirect = '/orders/1';
    if (known.redirect) throw REDIRECT;
    return this.stored(key) ?? refuse('unavailable', { ...more, executed: 'unknown' });
  }

  private stored(key: string): Outcome<string> | undefined {
    const { state } = this.of(key);
    const more = { key, nextKey: this.mint() };
    if (state === 'succeeded') return { ok: true, data: key, replayed: true, ...more };
    if (state === 'abandoned') return refuse('key_abandoned', { executed: false, ...more });
    return state === 'failed' ? refuse('failed', more) : undefined;
  }
}
