import { expect, test } from '@playwright/test';
import { nameOf, variantOf } from '../shop/variants.ts';
import { plant } from './fixtures/planted-app.ts';

/** A page that issues a key, and what is wrong with it. */
const page = (mistake: string) => `
  import { issueKey } from 'oncekit/next';
  import { sign } from '../../operation.ts';
  ${mistake}
  export default async function Page() { return <p>{await issueKey(sign)}</p>; }`;

/** A build mints no key that is ever sent, so this operation needs no database. */
const OPERATION = `
  import { createIdempotency } from 'oncekit';
  const schema = { '~standard': { version: 1, vendor: 'none', validate: (value) => ({ value }) } };
  const secret = [process.env.IDEMPOTENCY_SECRET];
  const scope = async () => ({ tenant: 'planted', principal: 'everybody' });
  export const sign = createIdempotency({ prisma: {}, secret, scope })
    .operation({ name: 'sign', schema })
    .handler(async () => null);`;

// B1. Real pages and real builds: what a page that is rendered once may ask for is Next's to decide, and it changes.
// They take their time and have nothing to do with the demo: once in a run of the matrix. See lib/next/issue-key.test.ts.
if (nameOf(variantOf(process.env)) === 'cache-components') {
  test.describe.configure({ timeout: 180_000 });

  test('pages that would give everybody the same key do not get through a build, which says why', async () => {
    const app = await plant('shared-keys', {
      'operation.ts': OPERATION,
      'app/force-static/page.tsx': page(`export const dynamic = 'force-static';`),
      'app/dynamic-error/page.tsx': page(`export const dynamic = 'error';`),
      'app/unstable-cache/page.tsx': `
        import { unstable_cache } from 'next/cache';
        import { issueKey } from 'oncekit/next';
        import { sign } from '../../operation.ts';
        const cached = unstable_cache(() => issueKey(sign));
        export default async function Page() { return <p>{await cached()}</p>; }`,
      'app/dynamic/page.tsx': page(''),
    });
    const { ok, output } = await app.build();
    await app.remove();
    expect(ok).toBe(false);
    // All of the mistakes and nothing else.
    expect(output.match(/prerendering page "([^"]+)"/g)?.sort()).toEqual([
      'prerendering page "/dynamic-error"',
      'prerendering page "/force-static"',
      'prerendering page "/unstable-cache"',
    ]);
    expect(output).toContain("everybody would get the same key of sign. Remove `dynamic = 'force-static'`");
    // What Next says by itself is good enough, as long as it says it.
    expect(output).toContain('`dynamic = "error"` couldn\'t be rendered statically because it used `connection()`');
    expect(output).toContain("`connection()` can't be called inside `unstable_cache()`");
  });

  test('pages that would put a key into a static shell do not get through a build, which says why', async () => {
    const app = await plant(
      'shared-shell',
      {
        'operation.ts': OPERATION,
        'app/use-cache/page.tsx': `
          import { issueKey } from 'oncekit/next';
          import { Suspense } from 'react';
          import { sign } from '../../operation.ts';
          async function Cached() { 'use cache'; return <p>{await issueKey(sign)}</p>; }
          export default function Page() { return <Suspense><Cached /></Suspense>; }`,
        'app/no-suspense/page.tsx': page(''),
      },
      { cacheComponents: true, partialPrefetching: true },
    );
    const { ok, output } = await app.build();
    await app.remove();
    expect(ok).toBe(false);
    expect(output).toMatch(/"\/use-cache".*`connection\(\)` can't be called inside `"use cache"`/);
    expect(output).toMatch(/"\/no-suspense".*encountered uncached or runtime data/);
  });
}
