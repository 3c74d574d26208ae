import type { Admin, Operated } from 'oncekit/admin';
import { z } from 'zod';
import { admin, kit } from './admin.ts';
import { actsOnce } from './once.ts';
import { aliases, keyId, wholePrincipal } from './query.ts';

/** The key as the page has shown it. */
const seenKey = keyId.extend({
  fencing_token: z.coerce.number().int().min(0).max(2_147_483_647),
  revision: z.string().max(10_000),
});

/** What a verdict overrules, as it was typed. */
const overruling = seenKey.extend({ overrules: z.string().max(10_000).optional() });

const schema = z.discriminatedUnion('act', [
  seenKey.extend({ act: z.literal('retry') }),
  seenKey.extend({ act: z.literal('release') }),
  seenKey.extend({ act: z.literal('forget') }),
  seenKey.extend({ act: z.literal('acknowledge') }),
  seenKey.extend({ act: z.literal('found'), reference: z.string().trim().min(1).max(255) }),
  overruling.extend({ act: z.literal('not_done') }),
  overruling.extend({ act: z.literal('send_again') }),
  keyId.extend({ act: z.literal('fence') }),
  wholePrincipal.extend({ act: z.literal('erase'), aliases }),
]);

/** Erasing a person reads the whole table. */
const TIMEOUT_MS = 120_000;

/** Acts of an admin on keys: with its own key in one transaction, so it is done once, however often it is sent. */
export const keyActs = actsOnce(
  kit
    .operation({ name: 'admin.keys', schema, timeoutMs: TIMEOUT_MS })
    .handler(async ({ input, tx, scope: { principal: actor }, afterCommit }) => {
      const keys = admin(input, { tx, afterCommit });
      switch (input.act) {
        case 'retry':
          return said(await keys.retryNow(seen(input), actor), 'retried', 'changed');
        case 'release':
          return said(await keys.release(seen(input), actor), 'released', 'not_released');
        case 'forget':
          return said(await keys.forget(seen(input), actor), 'forgotten', 'not_forgotten');
        case 'acknowledge':
          return said(await keys.acknowledge(seen(input), actor), 'acknowledged', 'not_acknowledged');
        case 'found':
          return await keys.resolve(seen(input), { kind: 'succeeded', reference: input.reference }, actor);
        case 'not_done':
        case 'send_again': {
          const kind = input.act === 'not_done' ? 'failed' : 'retry';
          return await keys.resolve(seen(input), { kind, overrules: await overruledBy(keys, input) }, actor);
        }
        case 'fence': {
          const fenced = await keys.fence(input, actor);
          if (fenced === 'changed') return 'was_fenced';
          if (fenced === 'recorded') return 'fenced';
          return (await keys.findKey(input)) ? 'not_fenced' : 'refused';
        }
        case 'erase':
          await keys.erasePrincipal(input, actor);
          return 'erased';
      }
    }),
);

function seen({ fencing_token: fencingToken, tenant, principal, operation, key, revision }: z.output<typeof seenKey>) {
  return { tenant, principal, operation, key, revision, fencingToken };
}

/** What was heard, where what was typed is that but for its spaces: a field keeps no line breaks, and a page no double ones. */
async function overruledBy(keys: Pick<Admin, 'findKey'>, { overrules, ...input }: z.output<typeof overruling>) {
  if (overrules === undefined) return undefined;
  const heard = (await keys.findKey(input))?.heard;
  const words = (text: string) => text.replace(/\s+/g, ' ').trim();
  return heard && words(heard) === words(overrules) ? heard : overrules;
}

function said<Done extends string, Refused extends string>(
  operated: Operated | 'refused',
  done: Done,
  refused: Refused,
): Done | Refused | 'changed' {
  if (operated === 'changed') return 'changed';
  return operated === 'recorded' ? done : refused;
}
