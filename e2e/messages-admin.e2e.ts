import type { BrowserContext, Page } from '@playwright/test';
import { createInbox, createOutbox, type Outbox, PublishError } from 'oncekit/messaging';
import type { Client } from '../shop/db.ts';
import { enter } from './fixtures/admin.ts';
import type { AppProcess } from './fixtures/app-process.ts';
import { axeFinds } from './fixtures/page-checks.ts';
import { expect, test } from './fixtures/test.ts';

/** Words that no page may hold. */
const SECRET = 'hush-hush-4711';
const LIST = '/admin/messages';
const sentAt = (event: string) => `${LIST}/detail?box=outbox&event=${event}`;
const receivedAt = (event: string) => `${LIST}/detail?box=inbox&source=bank&event=${event}`;

let outbox: Outbox;
let app: AppProcess;
/** `crm` and `erp` take nothing while this is true. */
let isDown = true;
/** The first event of each aggregate: a dead letter, but for `gone`, which wanted no more events. */
const first = {} as Record<'ann' | 'bob' | 'cid' | 'dup' | 'erp' | 'gone', string>;

test.beforeAll(async ({ world: { db, ...world } }) => {
  app = world.app;
  const takes = { publish: () => (isDown ? Promise.reject(new PublishError('HTTP 500')) : Promise.resolve()) };
  const gone = { publish: () => Promise.reject(new PublishError('HTTP 410', { next: 'stop' })) };
  outbox = createOutbox({
    prisma: db,
    destinations: [
      { name: 'crm', attempts: 1, types: ['order.paid'], publisher: takes },
      { name: 'erp', attempts: 1, types: ['order.booked'], publisher: takes },
      { name: 'dup', attempts: 1, types: ['order.doubled'], publisher: takes },
      { name: 'gone', types: ['order.cancelled'], publisher: gone },
      { name: 'archive', types: ['order.seen'], publisher: { publish: async () => {} } },
    ],
    onReport: () => {},
  });
  for (const name of ['ann', 'bob', 'cid'] as const) first[name] = await announce(db, 'order.paid', name, 2);
  first.dup = await announce(db, 'order.doubled', 'dup', 1);
  first.erp = await announce(db, 'order.booked', 'erp', 1);
  first.gone = await announce(db, 'order.cancelled', 'gone', 2);
  await announce(db, 'order.seen', 'seen', 26);
  await outbox.relayDue();
  const inbox = createInbox({ prisma: db, attempts: 1, onReport: () => {} });
  const payload = { iban: SECRET };
  const handle = () => Promise.reject(new Error(SECRET));
  const keeping = createInbox({ prisma: db, attempts: 1, sources: { bank: { handle } }, onReport: () => {} });
  await keeping.receiveOnce({ source: 'bank', eventId: 'kept', payload });
  await inbox.receiveOnce({ source: 'bank', eventId: 'dead', payload }, () => Promise.reject(new Error(SECRET)));
  await inbox.receiveOnce({ source: 'bank', eventId: 'done', payload }, async () => ({ booked: SECRET }));
});

async function announce(db: Client, type: string, aggregate: string, count: number): Promise<string> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const event = { type, aggregate: `order:${aggregate}`, payload: { note: SECRET }, headers: { 'x-token': SECRET } };
    ids.push((await db.$transaction((tx) => outbox.enqueue(tx, event))).eventId);
  }
  return ids[0] ?? '';
}

const stateOf = async (db: Client, eventId: string) =>
  (await db.outboxDelivery.findFirstOrThrow({ where: { eventId } })).state;
const recordsOf = async (db: Client, peer: string) =>
  (await db.messageEvent.findMany({ where: { peer }, orderBy: { id: 'asc' } })).map(
    ({ type, actor }) => `${type} ${actor}`,
  );
async function press(page: Page, name: string): Promise<void> {
  const all = /^Requeue all dead letters of (.+)$/.exec(name);
  if (all) {
    await expect(page.getByRole('button', { name }), 'it asks first').toBeHidden();
    await page.getByText(new RegExp(`Requeue all \\d+ of ${all[1]}…`)).click();
  }
  await page.getByRole('button', { name, exact: true }).click();
}

/** A browser without JavaScript: its forms are sent as they are, also twice. */
test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('X2 nothing of it is open, neither pages nor what they do', async ({ page, context, request, db }) => {
    for (const path of [LIST, `${LIST}?box=inbox`, sentAt(first.ann), receivedAt('dead')]) {
      const answer = await request.get(path, { maxRedirects: 0 });
      expect(answer.status(), path).toBe(307);
      expect(answer.headers().location, path).toContain('/admin/sign-in');
      expect(await answer.text(), path).not.toMatch(/order\.paid|Last error|Requeue/);
    }
    await enter(page, app);
    const admin = await context.cookies();
    for (const [path, button] of [
      [sentAt(first.ann), 'Requeue'],
      [sentAt(first.ann), 'Skip'],
      [LIST, 'Resume gone'],
      [LIST, 'Requeue all dead letters of crm'],
      [receivedAt('dead'), 'Requeue'],
    ] as const) {
      await context.addCookies(admin);
      await page.goto(path);
      await context.clearCookies({ name: 'oncekit_admin' });
      await press(page, button);
      await expect(page, button).toHaveURL(/\/admin\/sign-in\?next=%2Fadmin%2Fmessages/);
    }
    expect(await db.messageEvent.count({ where: { actor: 'admin' } })).toBe(0);
    expect(await db.outboxDelivery.count({ where: { destination: 'crm', state: 'dead' } })).toBe(3);
  });

  test('X3 what another tab has done already is refused in words, and recorded once', async ({ context, db }) => {
    const [page, tab] = await twoTabs(context, sentAt(first.bob));
    await press(page, 'Skip');
    await expect(page.getByRole('status')).toContainText('Skipped');
    await press(tab, 'Requeue');
    await expect(tab.getByRole('main').getByRole('alert')).toContainText('changed since you looked at it');
    await press(page, 'Requeue');
    await expect(page.getByRole('status')).toContainText('Requeued');
    const [all, none] = await twoTabs(context, LIST);
    await press(all, 'Requeue all dead letters of erp');
    await press(none, 'Requeue all dead letters of erp');
    await expect(none.getByRole('main').getByRole('alert')).toContainText('no dead letters');
    const [received, late] = await twoTabs(context, receivedAt('dead'));
    await press(received, 'Requeue');
    await press(late, 'Requeue');
    await expect(late.getByRole('main').getByRole('alert')).toContainText('changed since you looked at it');
    await page.goto(receivedAt('kept'));
    await press(page, 'Requeue');
    await expect(page.getByRole('main').getByRole('alert')).toContainText('Nobody runs events of this source again');
    expect(await stateOf(db, first.bob)).toBe('pending');
    expect(await recordsOf(db, 'erp')).toEqual(['requeued admin']);
    expect(await recordsOf(db, 'bank')).toEqual(['requeued admin']);
  });

  test('X3 doubled on the wire, both copies get the same answer, and it is recorded once', { tag: '@all' }, async ({
    page,
    db,
  }) => {
    await enter(page, app);
    await page.goto(sentAt(first.dup));
    const fields = await page
      .getByRole('button', { name: 'Requeue', exact: true })
      .evaluate((pressed: HTMLButtonElement) =>
        [...new FormData(pressed.form ?? undefined).entries()].map(([name, value]) => [name, String(value)] as const),
      );
    const send = async () => {
      const multipart = new FormData();
      for (const [name, value] of fields) multipart.append(name, value);
      const headers = { origin: new URL(page.url()).origin };
      const answer = await page.request.post(page.url(), { multipart, headers, maxRedirects: 0 });
      return `${answer.status()} ${answer.headers().location}`;
    };
    const copies = await Promise.all([send(), send(), send()]);
    expect(new Set(copies), 'whatever the order in which they arrive').toEqual(
      new Set([expect.stringMatching(/^303 .*notice=requeued$/)]),
    );
    expect(await send(), 'a later copy too').toBe(copies[0]);
    expect(await recordsOf(db, 'dup')).toEqual(['requeued admin']);
  });

  async function twoTabs(context: BrowserContext, path: string): Promise<[Page, Page]> {
    const tabs: [Page, Page] = [await context.newPage(), await context.newPage()];
    await enter(tabs[0], app);
    for (const tab of tabs) await tab.goto(path);
    return tabs;
  }
});

test('M4 a dead letter is found and requeued in four clicks, once, and what waited behind it follows', async ({
  page,
  db,
}) => {
  await enter(page, app);
  await page.goto('/admin');
  await page.getByRole('link', { name: 'Messages' }).click();
  const dead = page.getByRole('region', { name: 'Dead letters', exact: true }).getByRole('row');
  await expect(dead.filter({ hasText: 'order:ann' }), 'first, without a filter').toContainText('HTTP 500');
  await page.getByRole('list', { name: 'Counts' }).getByRole('link', { name: 'dead letters' }).click();
  const row = page.getByRole('row').filter({ hasText: 'order:ann' });
  await expect(row).toContainText('HTTP 500');
  await row.getByRole('link', { name: 'order.paid' }).click();
  await expect(page.getByRole('main')).toContainText('One later event of order:ann waits behind it');
  await expect(page.getByRole('link', { name: 'those of the order' })).toHaveAttribute('href', '/admin/keys?q=ann');
  await page.getByRole('button', { name: 'Requeue', exact: true }).dblclick();
  await expect(page.getByRole('status')).toContainText('Requeued');
  await expect(page.getByRole('main')).toContainText('Requeued (crm), by admin');
  expect(await db.messageEvent.count({ where: { eventId: first.ann } })).toBe(1);

  isDown = false;
  await outbox.relayDue({ destination: 'crm' });
  await page.goto(`${LIST}?peer=crm&state=delivered`);
  await expect(page.getByRole('row').filter({ hasText: 'order:ann' })).toHaveCount(2);
});

test('M4 what waits leads to the dead letter, which is skipped; a stopped destination is resumed', {
  tag: '@all',
}, async ({ page, db }) => {
  await enter(page, app);
  await page.goto(`${LIST}?state=pending&peer=crm`);
  const row = page.getByRole('row').filter({ hasText: 'order:cid' });
  await expect(row).toContainText('waits for #1, a dead letter');
  await row.getByRole('link', { name: 'order.paid' }).click();
  await page.getByRole('main').getByRole('link', { name: '#1' }).first().click();
  await expect(page).toHaveURL(new RegExp(first.cid));
  await press(page, 'Skip');
  await expect(page.getByRole('status')).toContainText('Skipped');
  expect(await stateOf(db, first.cid)).toBe('skipped');

  await page.goto(LIST);
  const stopped = page.getByRole('region', { name: 'gone is stopped' });
  await expect(stopped).toContainText('2 events wait');
  await stopped.getByRole('button').click();
  await expect(page.getByRole('status')).toContainText('Resumed');
  await expect(stopped).toHaveCount(0);
  expect(await recordsOf(db, 'gone')).toEqual(['stopped relay', 'resumed admin']);
});

test('25 to a page, and the rest behind it', { tag: '@all' }, async ({ page }) => {
  await enter(page, app);
  await page.goto(`${LIST}?peer=archive`);
  const rows = page.getByRole('table').locator('tbody tr');
  await expect(rows).toHaveCount(25);
  await expect(rows.first()).toContainText('#26');
  await page.getByRole('link', { name: 'Older' }).click();
  await expect(rows).toHaveCount(1);
  await expect(page).toHaveURL(/peer=archive&page=2|page=2.*peer=archive/);
  await page.goto(`${LIST}?peer=nobody`);
  await expect(page.getByText('No events here')).toBeVisible();
});

test('X3 no page holds what was sent, received or answered, and axe finds nothing in them', async ({ page }) => {
  await enter(page, app);
  const pages = [LIST, `${LIST}?box=inbox`, sentAt(first.erp), receivedAt('kept'), receivedAt('done')];
  for (const [n, path] of pages.entries()) {
    // Both the page as it is loaded, and the stream with which one page becomes another.
    for (const headers of [undefined, { RSC: '1' }]) {
      const text = await (await page.request.get(path, { headers })).text();
      expect(text, path).toContain(n < 2 ? 'Last error' : 'Names and types are shown');
      expect(text, path).not.toContain(SECRET);
    }
    await page.emulateMedia({ colorScheme: n % 2 ? 'dark' : 'light' });
    await page.goto(path);
    expect(await axeFinds(page), path).toEqual([]);
  }
});
