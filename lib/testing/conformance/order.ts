import {
  executesNew,
  hasEffects,
  holds,
  isSuccess,
  isUnused,
  mismatches,
  newKey,
  refuses,
  refusesUnused,
  replays,
  same,
  send,
  shown,
} from './checks.ts';
import { type ConformanceCase, caseOf, caseWith } from './target.ts';

const whereOthersAct = caseWith('otherHeaders');
const withInvalidBody = caseWith('invalidBody');

/** How many of one key at once. */
const DUPLICATES = 12;

/** The order of checks, and the fate of requests that come at the same time. */
export const orderCases: readonly ConformanceCase[] = [
  whereOthersAct('order of checks', 'a bad key is told before a missing principal', async (target) => {
    await refuses(target, { rawKey: '"no key"', as: {}, raw: '{' }, 400, 'key_malformed');
  }),
  whereOthersAct(
    'order of checks',
    'a missing principal is told before a bad body, and nothing is executed',
    async (target) => {
      const key = newKey();
      await refuses(target, { key, as: {}, raw: '{' }, 401, 'unauthorized');
      await refuses(target, { key, as: {}, body: target.body() }, 401, 'unauthorized');
      await isUnused(target, key);
    },
  ),
  caseOf('order of checks', 'a body that cannot be read consumes no key', async (target) => {
    await refusesUnused(target, { raw: '{' }, 400, 'malformed_body');
  }),
  withInvalidBody('order of checks', 'a failed validation consumes no key', async (target) => {
    const key = newKey();
    await refuses(target, { key, body: target.invalidBody() }, 400, 'validation');
    await refuses(target, { key, body: target.invalidBody() }, 400, 'validation');
    await isUnused(target, key);
  }),
  withInvalidBody('used keys', 'a used key decides before validation: mismatch', async (target) => {
    const { key } = await executesNew(target);
    await mismatches(target, { key, body: target.invalidBody() });
  }),
  caseOf('used keys', 'a used key does not decide before the body is read', async (target) => {
    const { key } = await executesNew(target);
    await refuses(target, { key, raw: '{' }, 400, 'malformed_body');
  }),
  caseOf(
    'duplicates',
    `${DUPLICATES} at once: one is executed, the others replay or are told to wait`,
    async (target) => {
      const key = newKey();
      const body = target.body();
      const answers = await Promise.all(Array.from({ length: DUPLICATES }, () => send(target, { key, body })));
      const stored = answers.filter(({ headers }) => headers['idempotency-status'] === 'stored');
      same('How many were executed', stored.length, 1);
      for (const answer of answers) {
        if (isSuccess(answer)) {
          same('The body of each success', answer.text, stored[0]?.text);
          continue;
        }
        holds('Of the others, each', answer.json.code === 'in_flight', shown(answer), 'a replay, or in_flight');
        holds('Retry-After', Number(answer.headers['retry-after']) >= 1, answer.headers['retry-after'], 'at least 1');
      }
      same('The replay', (await replays(target, { key, body })).text, stored[0]?.text);
      await hasEffects(target, key, 1);
    },
  ),
  caseOf('duplicates', 'two payloads at once: one is executed, the other is never', async (target) => {
    const key = newKey();
    const bodies = [target.body(), target.otherBody()];
    const answers = await Promise.all(bodies.map((body) => send(target, { key, body })));
    same('How many were executed', answers.filter(isSuccess).length, 1);
    const loser = answers.findIndex((answer) => !isSuccess(answer));
    await mismatches(target, { key, body: bodies[loser] });
  }),
];
