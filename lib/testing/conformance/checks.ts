import { randomUUID } from 'node:crypto';
import { IdempotencyError } from '../../core/errors.ts';
import { type Answer, type Sent, send } from './client.ts';
import type { ConformanceTarget } from './target.ts';

/** The endpoint does not keep a rule. `existing` is what it did, `expected` what the contract says. */
export class ConformanceError extends IdempotencyError {
  override readonly name = 'ConformanceError';
}

/** A key that was never used. */
export const newKey = (): string => randomUUID();

/** @throws ConformanceError unless both are the same JSON */
export function same(what: string, existing: unknown, expected: unknown): void {
  if (JSON.stringify(existing) === JSON.stringify(expected)) return;
  throw differs(what, existing, expected);
}

/** @throws ConformanceError unless it fits */
export function fits(what: string, existing: unknown, pattern: RegExp): void {
  if (typeof existing === 'string' && pattern.test(existing)) return;
  throw differs(what, existing, String(pattern));
}

/** @throws ConformanceError unless it holds */
export function holds(what: string, isSo: boolean, existing: unknown, expected: unknown): void {
  if (!isSo) throw differs(what, existing, expected);
}

/** Sends what is accepted, under a key that was not used: executed now, by this request. */
export async function executes(target: ConformanceTarget, sent: Sent): Promise<Answer> {
  const answer = await send(target, { body: target.body(), ...sent });
  holds('It is executed', isSuccess(answer), shown(answer), 'a 2xx answer');
  same('Idempotency-Status of the first answer', answer.headers['idempotency-status'], 'stored');
  return answer;
}

/** Sends what was executed before: answered with what is stored. */
export async function replays(target: ConformanceTarget, sent: Sent): Promise<Answer> {
  const answer = await send(target, sent);
  same(`Idempotency-Status of the replay, ${shown(answer)}`, answer.headers['idempotency-status'], 'replayed');
  return answer;
}

/** Sends what is refused, with this status and code. */
export async function refuses(
  target: ConformanceTarget,
  sent: Sent,
  status: number,
  ...codes: string[]
): Promise<Answer> {
  const answer = await send(target, sent);
  holds('The status of the refusal', answer.status === status, shown(answer), status);
  const { code } = answer.json;
  holds('The code of the refusal', codes.includes(String(code)), shown(answer), codes.join(' or '));
  return answer;
}

/** Only where the target counts them. */
export async function hasEffects(target: ConformanceTarget, key: string, expected: number): Promise<void> {
  if (target.effects) same('The number of effects', await target.effects(key), expected);
}

/** A refused request has used nothing up: the same key executes what is right. */
export async function isUnused(target: ConformanceTarget, key: string): Promise<void> {
  await hasEffects(target, key, 0);
  await executes(target, { key });
  await hasEffects(target, key, 1);
}

export function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

/** An answer in one line. */
export function shown({ status, text }: Answer): string {
  return `${status} ${text.slice(0, 400)}`;
}

function differs(what: string, existing: unknown, expected: unknown): ConformanceError {
  const words = `${what}: existing ${JSON.stringify(existing)}, expected ${JSON.stringify(expected)}`;
  return new ConformanceError(words, { existing, expected });
}
