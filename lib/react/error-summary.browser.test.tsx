import { expect, test } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import type { Outcome } from '../core/outcome.ts';
import { refuse } from '../core/outcome.ts';
import { newIntent, ONCE } from './form.fixture.tsx';
import { IdempotentForm } from './index.ts';

/** An order in memory that refuses every empty field, and then answers as it is told. */
async function open(last: Outcome<string>) {
  const action = async (_: unknown, form: FormData): Promise<Outcome<string>> => {
    const empty = ['city', 'street', 'cart'].filter((name) => !form.get(name));
    const fieldErrors = Object.fromEntries(empty.map((name) => [name, [`Enter the ${name}.`]]));
    return empty.length > 0 ? refuse('validation', { fieldErrors, executed: false }) : last;
  };
  const screen = await render(
    <IdempotentForm action={action} intent={newIntent()} initialKey="k" policy={ONCE}>
      <input type="hidden" name="cart" />
      <input aria-label="Name" name="name" />
      <input aria-label="Street" name="street" />
      <input aria-label="City" name="city" />
      <div style={{ height: '300vh' }} />
      <button type="submit">Place order</button>
      <div style={{ height: '300vh' }} />
    </IdempotentForm>,
  );
  return { screen, place: () => userEvent.click(screen.getByRole('button', { name: 'Place order' })) };
}

const done: Outcome<string> = { ok: true, data: 'done', replayed: false, key: 'k', nextKey: 'k2' };

test('the first wrong field that can be seen has the focus, and the summary leads to the others', async () => {
  const { screen, place } = await open(done);
  await place();
  await expect.element(screen.getByRole('textbox', { name: 'Street' })).toHaveFocus();
  const summary = screen.getByRole('list', { name: 'What needs your attention' });
  const links = summary.getByRole('link');
  expect(links.elements().map((link) => link.textContent)).toEqual([
    'Enter the city.',
    'Enter the street.',
    'Enter the cart.',
  ]);
  await userEvent.click(summary.getByRole('link', { name: 'Enter the city.' }));
  await expect.element(screen.getByRole('textbox', { name: 'City' })).toHaveFocus();
});

test('any other answer is scrolled to where it is seen, and takes the focus from nothing', async () => {
  const { screen, place } = await open(refuse('failed', { message: 'Sold out.', executed: true, nextKey: 'k2' }));
  for (const name of ['Street', 'City']) await userEvent.fill(screen.getByRole('textbox', { name }), 'x');
  screen.container.querySelector<HTMLInputElement>('[name=cart]')?.setAttribute('value', 'c1');
  await place();
  await expect.element(screen.getByRole('status')).toHaveTextContent('Sold out.');
  await expect.element(screen.getByRole('status')).toBeInViewport();
  await expect.element(screen.getByRole('button', { name: 'Place order' })).toHaveFocus();
  expect(screen.getByRole('list').elements()).toEqual([]);
});
