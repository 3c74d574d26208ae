import { StrictMode } from 'react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { IMPATIENT, newIntent, ONCE, open, shop } from './form.fixture.tsx';
import { useLastSubmission } from './index.ts';
import { openRecords } from './submission/storage.ts';

/** An error page finds out what became of the form that was sent last. Addresses are not loaded here, but noted. */

const HERE = location.href;
const loaded: string[] = [];

beforeEach(() => {
  loaded.length = 0;
  sessionStorage.clear();
  localStorage.clear();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function ErrorPage() {
  const { status, href, intent, tryAgain } = useLastSubmission({ load: (address) => loaded.push(address) });
  return (
    <>
      <p data-testid="page" data-status={status} data-intent={intent}>
        {href ?? 'nowhere'}
      </p>
      <button type="button" onClick={tryAgain}>
        Try again
      </button>
    </>
  );
}

async function showErrorPage() {
  const screen = await render(
    <StrictMode>
      <ErrorPage />
    </StrictMode>,
  );
  const page = screen.getByTestId('page');
  return {
    screen,
    is: (status: string) => expect.element(page).toHaveAttribute('data-status', status),
    leadsTo: (href: string) => expect.element(page).toHaveTextContent(href),
    tryAgain: () => userEvent.click(screen.getByRole('button')),
  };
}

/** A form that is sent, whose answer is lost, and whose page is gone then. */
async function lose(options: Parameters<typeof open>[1] = {}) {
  const orders = shop();
  orders.loseAnswer();
  const form = await open(orders, { policy: ONCE, ...options });
  await form.place();
  await form.is('unknown');
  await form.screen.unmount();
  return { orders, intent: form.intent };
}

const change = (intent: string, more: object) => {
  const records = openRecords('session');
  const record = records.read(intent);
  if (!record) throw new Error(`Nothing is remembered of ${intent}.`);
  records.write(intent, { ...record, ...more });
};

test('nothing was sent: it says so, and "try again" loads the page', async () => {
  const { is, tryAgain } = await showErrorPage();
  await is('none');
  await tryAgain();
  expect(loaded).toEqual([HERE]);
});

describe('on the page of the form that was sent', () => {
  test('it loads the page, where the form finds out; once for each time it was sent', async () => {
    const { orders, intent } = await lose();
    const first = await showErrorPage();
    await first.is('leaving');
    await expect.poll(() => loaded).toEqual([HERE]);
    await first.screen.unmount();

    const second = await showErrorPage();
    await second.is('succeeded');
    await second.leadsTo(HERE);
    expect(loaded).toHaveLength(1);
    await second.screen.unmount();

    const { is, says, place } = await open(orders, { intent });
    await is('hasSucceeded');
    await says('This was already sent, and it went through. Order 1');
    await place();
    expect([orders.attempts.length, orders.effects.length]).toEqual([1, 1]);
  });

  test('an answer that had come goes back to the form that could not show it', async () => {
    const orders = shop();
    const form = await open(orders);
    await form.place();
    await form.is('hasSucceeded');
    await form.screen.unmount();
    const errorPage = await showErrorPage();
    await errorPage.is('leaving');
    await expect.poll(() => loaded).toEqual([HERE]);
    await errorPage.screen.unmount();
    const { is, says } = await open(orders, { intent: form.intent });
    await is('hasSucceeded');
    await says('This was already sent, and it went through. Order 1');
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('a request that never arrived is told by the form', async () => {
    const orders = shop();
    orders.loseRequest();
    const form = await open(orders, { policy: IMPATIENT });
    await form.place();
    await form.is('unknown');
    await form.screen.unmount();
    const first = await showErrorPage();
    await expect.poll(() => loaded).toEqual([HERE]);
    await first.screen.unmount();
    const { is } = await showErrorPage();
    await is('atForm');
  });

  test('it goes where the stored redirect leads', async () => {
    const { orders } = await lose();
    const { key } = orders.attempts[0] ?? {};
    const answer = { ...orders.status(String(key)), redirect: '/orders/1' };
    vi.spyOn(window, 'fetch').mockImplementation(async () => Response.json(answer));
    const { is, leadsTo } = await showErrorPage();
    await is('leaving');
    await leadsTo('/orders/1');
    await expect.poll(() => loaded).toEqual(['/orders/1']);
  });

  test.each([
    [
      'is blocked',
      () =>
        vi.spyOn(window, 'sessionStorage', 'get').mockImplementation(() => {
          throw new DOMException('no', 'SecurityError');
        }),
    ],
    ['accepts and forgets', () => vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {})],
  ])('where storage %s it does not go by itself: it would go round for ever', async (_, breakIt) => {
    await lose({ storage: 'local' });
    breakIt();
    const { is, leadsTo } = await showErrorPage();
    await is('succeeded');
    await leadsTo(HERE);
    expect(loaded).toEqual([]);
  });

  test('behind a proxy that wants a sign-in it loads the form, where a person is led to that', async () => {
    await lose();
    vi.spyOn(window, 'fetch').mockImplementation(async () => new Response('Sign in', { status: 401 }));
    const { is } = await showErrorPage();
    await is('leaving');
    await expect.poll(() => loaded).toEqual([HERE]);
  });

  test('a key that this page alone remembers is not left behind', async () => {
    const { orders, intent } = await lose({ storage: 'memory' });
    orders.down();
    const { is, leadsTo, tryAgain } = await showErrorPage();
    await is('unreachable');
    orders.up();
    await tryAgain();
    await is('succeeded');
    await leadsTo('nowhere');
    expect(loaded).toEqual([]);
    openRecords('memory').write(intent, null); // the other tests' page is the same
  });
});

test('what this page alone remembers, and nobody has seen, it goes on asking about', async () => {
  const orders = shop();
  orders.loseRequest();
  const form = await open(orders, { policy: IMPATIENT, storage: 'memory' });
  await form.place();
  await form.is('unknown');
  await form.screen.unmount();
  const { is } = await showErrorPage();
  await is('unreachable');
  expect(loaded).toEqual([]);
  openRecords('memory').write(form.intent, null);
});

describe('elsewhere', () => {
  const elsewhere = new URL('/checkout?cart=1', HERE).href;

  test('it loads the page that broke, once; then it tells, and leads to the form by hand', async () => {
    const { intent } = await lose();
    change(intent, { page: elsewhere });
    const first = await showErrorPage();
    await first.is('leaving');
    await expect.poll(() => loaded).toEqual([HERE]);
    await first.screen.unmount();
    const { is, leadsTo } = await showErrorPage();
    await is('succeeded');
    await leadsTo(elsewhere);
    expect(loaded).toHaveLength(1);
  });

  test.each([
    ['is old news', { submittedAt: Date.now() - 6 * 60_000 }],
    ['had its answer', { state: 'settled' }],
  ])('what %s does not concern it', async (_, more) => {
    const { intent } = await lose();
    change(intent, { page: elsewhere, ...more });
    const { is } = await showErrorPage();
    await is('none');
  });

  test.each(['https://evil.example/', 'javascript:alert(1)', 'http://'])('never to %s', async (page) => {
    const { intent } = await lose();
    change(intent, { page });
    const { is, leadsTo } = await showErrorPage();
    await is('leaving');
    await leadsTo('nowhere');
    await expect.poll(() => loaded).toEqual([HERE]);
  });
});

test('the newest submission counts, of whichever storage', async () => {
  const { intent: first } = await lose();
  const { intent: second } = await lose({ storage: 'local', intent: newIntent() });
  change(first, { submittedAt: Date.now() - 1000 });
  const { screen } = await showErrorPage();
  await expect.element(screen.getByTestId('page')).toHaveAttribute('data-intent', second);
});

test('nobody answers: it stays, and asks again when it is online or told to', async () => {
  const { orders } = await lose();
  orders.down();
  const status = vi.spyOn(window, 'fetch');
  const { is, tryAgain } = await showErrorPage();
  await is('unreachable');
  const asked = status.mock.calls.length;
  await tryAgain();
  await expect.poll(() => status.mock.calls.length).toBe(asked + 1);
  await is('unreachable');
  expect(loaded).toEqual([]);
  orders.up();
  window.dispatchEvent(new Event('online'));
  await is('leaving');
  await expect.poll(() => loaded).toEqual([HERE]);
  expect(orders.attempts).toHaveLength(1);
});
