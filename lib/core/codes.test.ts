import { describe, expect, test } from 'vitest';
import { ADVICE, type Code } from './codes.ts';
import { refuse } from './outcome.ts';

/** The contract's table, written down again: status and retry advice of every code. */
const CONTRACT: Record<Code, [status: number, retry: string]> = {
  validation: [400, 'same-key'],
  malformed_body: [400, 'never'],
  unsupported_media_type: [415, 'never'],
  payload_too_large: [413, 'never'],
  key_missing: [400, 'new-key'],
  key_malformed: [400, 'new-key'],
  key_invalid: [400, 'never'],
  key_expired: [410, 'never'],
  key_abandoned: [410, 'new-key'],
  unauthorized: [401, 'same-key'],
  precondition_failed: [412, 'never'],
  precondition_required: [428, 'never'],
  not_found: [404, 'never'],
  payload_mismatch: [422, 'never'],
  in_flight: [409, 'same-key'],
  already_done: [409, 'never'],
  outcome_unknown: [409, 'same-key'],
  rate_limited: [429, 'same-key'],
  failed: [422, 'new-key'],
  deferred: [503, 'same-key'],
  not_kept: [422, 'same-key'],
  already_exists: [409, 'same-key'],
  unavailable: [503, 'same-key'],
  phase_mismatch: [500, 'never'],
  result_unreadable: [500, 'never'],
  result_too_large: [500, 'never'],
  internal: [500, 'same-key'],
};

describe('the outcome table', () => {
  test('it holds the codes of the contract and no others', () => {
    expect(Object.keys(ADVICE).sort()).toEqual(Object.keys(CONTRACT).sort());
  });

  test.each(Object.entries(CONTRACT))('%s has status and retry %j', (code, [status, retry]) => {
    expect(ADVICE[code as Code]).toMatchObject({ status, retry });
  });

  test.each(Object.entries(ADVICE))('%s has a sentence for a person', (_, { message }) => {
    expect(message).toMatch(/^[A-Z].*\.$/);
  });

  test('a mismatch is not told as 409, which asks a client to try again', () => {
    expect(ADVICE.payload_mismatch.status).not.toBe(409);
  });

  test('refuse fills in the advice of the code, and the details win', () => {
    expect(refuse('in_flight', { executed: 'unknown', retryAfterMs: 5 })).toEqual({
      ok: false,
      code: 'in_flight',
      message: ADVICE.in_flight.message,
      retry: 'same-key',
      executed: 'unknown',
      retryAfterMs: 5,
    });
    expect(refuse('failed', { executed: true, message: 'Sold out.' }).message).toBe('Sold out.');
  });
});
