import { type ConformanceCase, caseOf, caseWith, holds, isSuccess, newKey, same, shown } from './endpoint.ts';

const whereOthersAct = caseWith('otherHeaders');
const withInvalidBody = caseWith('invalidBody');

/** How many of one key at once. */
const DUPLICATES = 12;

/** The order of checks, and the fate of requests that come at the same time. */
export const orderCases: readonly ConformanceCase[] = [
  whereOthersAct('order of checks', 'a bad key is told before a missing principal', async (api) => {
    await api.refuses({ rawKey: '"no key"', as: {}, raw: '{' }, 400, 'key_malformed');
  }),
  whereOthersAct(
    'order of checks',
    'a missing principal is told before a bad body, and nothing is executed',
    async (api) => {
      const key = newKey();
      await api.refuses({ key, as: {}, raw: '{' }, 401, 'unauthorized');
      await api.refuses({ key, as: {}, body: api.body() }, 401, 'unauthorized');
      await api.isUnused(key);
    },
  ),
  caseOf('order of checks', 'a body that cannot be read consumes no key', async (api) => {
    await api.refusesUnused({ raw: '{' }, 400, 'malformed_body');
  }),
  withInvalidBody('order of checks', 'a failed validation consumes no key', async (api) => {
    const key = newKey();
    await api.refuses({ key, body: api.target.invalidBody() }, 400, 'validation');
    await api.refuses({ key, body: api.target.invalidBody() }, 400, 'validation');
    await api.isUnused(key);
  }),
  withInvalidBody('used keys', 'a used key decides before validation: mismatch', async (api) => {
    const { key } = await api.executesNew();
    await api.mismatches({ key, body: api.target.invalidBody() });
  }),
  caseOf('used keys', 'a used key does not decide before the body is read', async (api) => {
    const { key } = await api.executesNew();
    await api.refuses({ key, raw: '{' }, 400, 'malformed_body');
  }),
  caseOf('duplicates', `${DUPLICATES} at once: one is executed, the others replay or are told to wait`, async (api) => {
    const { key, body } = api.newRequest();
    const answers = await Promise.all(Array.from({ length: DUPLICATES }, () => api.send({ key, body })));
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
    same('The replay', (await api.replays({ key, body })).text, stored[0]?.text);
    await api.hasEffects(key, 1);
  }),
  caseOf('duplicates', 'two payloads at once: one is executed, the other is never', async (api) => {
    const key = newKey();
    const bodies = [api.body(), api.otherBody()];
    const answers = await Promise.all(bodies.map((body) => api.send({ key, body })));
    same('How many were executed', answers.filter(isSuccess).length, 1);
    const loser = answers.findIndex((answer) => !isSuccess(answer));
    await api.mismatches({ key, body: bodies[loser] });
  }),
];
