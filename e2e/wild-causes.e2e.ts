import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { Locator, Page } from '@playwright/test';
import { expectCounted } from './fixtures/expect-counted.ts';
import type { Network } from './fixtures/proxy-control.ts';
import { expect, hydrated, test } from './fixtures/test.ts';
import { button, formOf, NONE, ONE, ordered, statusIn } from './fixtures/wild.ts';

/** Why a submit has no answer, in words, where a page can know it. With files from the disk, an upload, and a proxy in front. */

const PATH = '/examples/forms';
const TO_FORMS = { method: 'POST', path: PATH };

const FILE_IS_GONE = 'A file that you chose is gone, or has changed. Choose it again.';
const ON_ITS_WAY = 'It is still on its way. Please stay on this page.';
const LEADS_ELSEWHERE = 'Something between you and us leads elsewhere';

const checkAgain = (form: Locator) => button(form, 'Check again');

/** The form with a file, and how often the page has sent it. */
async function openPicture(page: Page) {
  const posts: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && posts.push(request.url()));
  await page.goto(PATH);
  await hydrated(page);
  const form = formOf(page, 'A file');
  return { form, posts, choose: (file: string) => form.getByLabel('Picture, at most 500 kB').setInputFiles(file) };
}

/** A file on the disk. */
async function makeFile(name: string, content = 'a cat'.padEnd(2000, '.')): Promise<string> {
  const file = test.info().outputPath(name);
  await writeFile(file, content);
  return file;
}

test.describe('a file that is gone', () => {
  test('B5 before it is sent: the words say so, nothing is tried again, and chosen again it is ordered once', async ({
    page,
    shop,
  }) => {
    const { form, posts, choose } = await openPicture(page);
    const file = await makeFile('cat.png');
    await choose(file);
    const content = await readFile(file);
    await rm(file);
    await button(form, 'Order the print').click();
    await expect(statusIn(form)).toHaveText(FILE_IS_GONE);
    await expect(checkAgain(form)).toHaveAttribute('aria-disabled', 'false');
    await checkAgain(form).click();
    await expect(statusIn(form)).toHaveText(FILE_IS_GONE);
    expect(posts).toHaveLength(1);
    expectCounted(await shop.gained()).toEqual(NONE);
    await writeFile(file, content);
    await choose(file);
    await button(form, 'Order the print').click();
    await ordered(form);
    await expect(form).toContainText('with your picture of 2,000 bytes');
    // The key of the file that is gone was given up.
    expectCounted(await shop.gained()).toEqual({ ...ONE, keys: 2 });
  });

  test('B5 behind a request that was lost: put back, it is sent under the same key', { tag: '@all' }, async ({
    page,
    shop,
    network,
  }) => {
    const { form, choose } = await openPicture(page);
    const file = await makeFile('cat.png');
    await choose(file);
    const key = await form.locator('[name=idempotency_key]').inputValue();
    await network.break({ match: TO_FORMS, kind: 'lose-request', ms: 500, times: 50 });
    await button(form, 'Order the print').click();
    await expect.poll(() => shop.posts()).toBe(1);
    await rename(file, `${file}.away`);
    await expect(statusIn(form)).toHaveText(FILE_IS_GONE);
    await rename(`${file}.away`, file);
    await network.heal();
    await button(form, 'Order the print').click();
    await ordered(form);
    expect(await form.locator('[name=idempotency_key]').inputValue()).toBe(key);
    expectCounted(await shop.gained()).toEqual(ONE);
  });
});

test.describe('an attempt that takes longer than it is waited for', () => {
  test.beforeEach(async ({ page }) => {
    await page.clock.install();
  });

  const untilLate = async (page: Page, form: Locator) => {
    await expect(statusIn(form)).toHaveAttribute('data-state', 'executing');
    await page.clock.fastForward('00:11');
    await expect(statusIn(form)).toHaveText(ON_ITS_WAY);
  };

  test('B5 a slow upload: the words say that it is on its way, and its answer is shown', async ({ page, shop }) => {
    const { form, posts, choose } = await openPicture(page);
    await choose(await makeFile('cat.png', 'a cat'.padEnd(400_000, '.')));
    const devtools = await page.context().newCDPSession(page);
    const limitUpload = (uploadThroughput: number) =>
      devtools.send('Network.emulateNetworkConditions', {
        ...{ offline: false, latency: 0, downloadThroughput: -1, uploadThroughput },
      });
    await limitUpload(2000);
    await button(form, 'Order the print').click();
    await untilLate(page, form);
    expectCounted(await shop.gained()).toEqual(NONE);
    await limitUpload(-1);
    await ordered(form);
    await expect(form).toContainText('with your picture of 400,000 bytes');
    expect(posts).toHaveLength(1);
    expectCounted(await shop.gained()).toEqual(ONE);
  });

  test('B5 where it is lost the words are other ones, and sent again it is ordered once', async ({ page, shop }) => {
    const { form, choose } = await openPicture(page);
    await choose(await makeFile('cat.png'));
    let lose = () => {};
    const lost = new Promise<void>((resolve) => {
      lose = resolve;
    });
    await page.route(`**${PATH}`, (route) => lost.then(() => route.abort('connectionreset')), { times: 1 });
    await button(form, 'Order the print').click();
    await untilLate(page, form);
    lose();
    await expect(statusIn(form)).toHaveText('Your order has not reached us so far. Order again: it is ordered once.');
    await button(form, 'Order the print').click();
    await ordered(form);
    expectCounted(await shop.gained()).toEqual(ONE);
  });
});

test.describe('a proxy in front that wants a sign-in', () => {
  /** In the place of the page's address and the status route's. Elsewhere people still come to the site, to sign in. */
  async function answerInstead(network: Network, answer: { status: number; location?: string }): Promise<void> {
    for (const path of [PATH, '/api/idempotency/*']) {
      await network.break({ match: { path }, kind: 'status', times: 1000, ...answer });
    }
  }

  const orderSimplest = async (page: Page) => {
    await page.goto(PATH);
    await hydrated(page);
    const form = formOf(page, 'The simplest');
    return { form, order: () => button(form, 'Order mugs').click() };
  };

  for (const [what, answer, tag] of [
    ['a redirect of the same origin', () => ({ status: 302, location: '/sign-in' }), undefined],
    ['a redirect to another origin', (url: string) => ({ status: 302, location: `${url}/sign-in` }), '@all'],
    ['a 401', () => ({ status: 401 }), '@all'],
  ] as const) {
    test(`B5 ${what}: the words say so, and once signed in "Check again" and another click order once`, {
      tag: tag ?? [],
    }, async ({ page, shop, network, app }) => {
      const { form, order } = await orderSimplest(page);
      await answerInstead(network, answer(app.url));
      await order();
      await expect(statusIn(form)).toContainText(LEADS_ELSEWHERE);
      expect(await shop.posts(), 'two attempts, and no more').toBe(2);
      await checkAgain(form).click();
      await expect(statusIn(form)).toContainText(LEADS_ELSEWHERE);
      expectCounted(await shop.gained()).toEqual(NONE);
      await network.heal();
      await checkAgain(form).click();
      await expect(statusIn(form)).toHaveText('It has not reached us so far. Sending it again is safe.');
      await order();
      await ordered(form);
      expectCounted(await shop.gained()).toEqual(ONE);
    });
  }

  test('B5 behind an order whose answer was lost: "Check again" finds it', { tag: '@all' }, async ({
    page,
    shop,
    network,
  }) => {
    const { form, order } = await orderSimplest(page);
    await network.break({ match: TO_FORMS, kind: 'lose-answer' });
    await answerInstead(network, { status: 302, location: '/sign-in' });
    await order();
    await expect(statusIn(form)).toContainText(LEADS_ELSEWHERE);
    await network.heal();
    await checkAgain(form).click();
    await ordered(form);
    expectCounted(await shop.gained()).toEqual(ONE);
  });
});
