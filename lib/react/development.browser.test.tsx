import { expect, onTestFinished, test, vi } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { newIntent, open, shop } from './form.fixture.tsx';
import { useIdempotentSubmit } from './index.ts';

/** Mistakes that a form finds in development, each said once, on the console and in the page. */

function develop() {
  vi.stubGlobal('process', { env: { NODE_ENV: 'development' } });
  const console = vi.spyOn(globalThis.console, 'error').mockImplementation(() => {});
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
    for (const note of notes()) note.remove();
  });
  return () => console.mock.calls.map(([words]) => String(words)).filter((words) => words.startsWith('[oncekit]'));
}

const notes = () => [...document.querySelectorAll<HTMLElement>('[data-oncekit=complaint]')];

test('a form without a field for its key still works, and says what it lacks', async () => {
  const said = develop();
  const orders = shop();
  function Fieldless(options: { intent: string; initialKey: string }) {
    const submit = useIdempotentSubmit(orders.action, options);
    return (
      <form {...submit.formProps}>
        <button type="submit">Place order</button>
      </form>
    );
  }
  for (const intent of [newIntent(), newIntent()]) {
    const screen = await render(<Fieldless intent={intent} initialKey={orders.issueKey()} />);
    await userEvent.click(screen.getByRole('button', { name: 'Place order' }));
    await expect
      .poll(() => notes().map((note) => note.textContent))
      .toEqual([expect.stringMatching(/form of checkout has no field for its key.*<IdempotencyKeyField/)]);
    await screen.unmount();
  }
  expect(said()).toHaveLength(1);
  expectCounted(orders.effects).toHaveLength(2);
  // The server's console hears of it with the next submit.
  expect(orders.attempts.at(-1)?.form.getAll('idempotency_complaint')).toEqual([
    expect.stringContaining('no field for its key'),
  ]);
});

test('a status route that is not there is missed before an answer is lost', async () => {
  const said = develop();
  vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response('', { status: 404 }));
  for (const _ of [1, 2]) {
    const page = await open(shop(), { statusUrl: '/nowhere' });
    await expect
      .poll(() => notes().map((note) => note.textContent))
      .toEqual([expect.stringMatching(/404 at \/nowhere\/checkout.*statusRoute/)]);
    await page.screen.unmount();
  }
  expect(said()).toHaveLength(1);
});

test('a form says which operation its intent names, in development alone', async () => {
  const orders = shop();
  const sent = async () => {
    const { place, is, screen } = await open(orders);
    await place();
    await is('hasSucceeded');
    await screen.unmount();
    return orders.attempts.at(-1)?.form.get('idempotency_operation');
  };
  expect(await sent()).toBeNull();
  develop();
  expect(await sent()).toBe('checkout');
});
