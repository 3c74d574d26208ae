import { renderToString } from 'react-dom/server';
import { expect, test } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { type Outcome, type Refusal, refuse } from '../../core/outcome.ts';
import { newIntent, ONCE } from '../form.fixture.tsx';
import { FieldError, FieldForm, FormContext, FormField } from './form-field.tsx';

/** As `showErrorsAtFields` of lib/next hands them to the browser. */
const FIELDS = (
  <>
    <label htmlFor="city">City</label>
    <FormField id="city" as="input" name="city" defaultValue="Rome" aria-describedby="hint" showsError={false} />
    <FieldError name="city" />
    <p id="hint">Where you live</p>
    <label htmlFor="note">Note</label>
    <FormField id="note" as="textarea" name="note" defaultValue="-" showsError={false} />
    <input aria-label="Street" name="street" />
    <button type="submit">Place order</button>
  </>
);

async function open(...answers: Outcome<string>[]) {
  const action = async () => answers.shift() as Outcome<string>;
  const screen = await render(
    <FieldForm action={action} intent={newIntent()} initialKey="k" policy={ONCE}>
      {FIELDS}
    </FieldForm>,
  );
  const field = (name: string) => screen.getByRole('textbox', { name });
  return { screen, field, place: () => userEvent.click(screen.getByRole('button', { name: 'Place order' })) };
}

const refused = (fieldErrors: Record<string, string[]>) => refuse('validation', { fieldErrors, executed: false });
const done: Outcome<string> = { ok: true, data: 'done', replayed: false, key: 'k', nextKey: 'k2' };

test('a wrong field says so, with its error beside it, until an answer takes it back', async () => {
  const { field, place } = await open(refused({ city: ['Enter the city.', 'All of it.'] }), done);
  await userEvent.fill(field('Note'), 'by hand');
  await place();
  await expect.element(field('City')).toHaveAttribute('aria-invalid', 'true');
  await expect.element(field('City')).toHaveAccessibleDescription('Where you live Enter the city. All of it.');
  await expect.element(field('City')).toHaveFocus();
  await expect.element(field('Note')).not.toHaveAttribute('aria-invalid');
  await expect.element(field('Note')).toHaveValue('by hand');
  await place();
  await expect.element(field('City')).not.toHaveAttribute('aria-invalid');
  await expect.element(field('City')).toHaveAccessibleDescription('Where you live');
});

test('a field in a component of the page is described by the summary, and no longer than it is wrong', async () => {
  const { field, place } = await open(refused({ street: ['Enter the street.'] }), done);
  await place();
  await expect.element(field('Street')).toHaveAttribute('aria-invalid', 'true');
  await expect.element(field('Street')).toHaveAccessibleDescription('Enter the street.');
  await place();
  await expect.element(field('Street')).not.toHaveAttribute('aria-invalid');
});

test('errors that belong to no field are shown, too', async () => {
  const { screen, place } = await open(refused({ '': ['The cart has changed.'] }));
  await place();
  await expect.element(screen.getByText('The cart has changed.').first()).toBeVisible();
});

test('the page that answers a form without JavaScript says it as well, and keeps what was entered', () => {
  const result: Refusal = {
    ...refused({ city: ['Enter the city.'] }),
    values: { city: '', note: 'with love', size: 'L', extra: ['wrap'], gift: ['card', 'box'] },
  };
  const form = document.createElement('form');
  form.innerHTML = renderToString(
    <FormContext
      value={{ status: 'hasErrored', result, fieldProps: { name: 'idempotency_key', value: 'k', form: 'f' } }}
    >
      {FIELDS}
      <FormField as="input" type="radio" name="size" value="S" defaultChecked showsError={false} />
      <FormField as="input" type="radio" name="size" value="L" showsError />
      <FormField as="input" type="checkbox" name="terms" defaultChecked showsError />
      <FormField as="input" type="checkbox" name="extra" value="wrap" showsError />
      <FormField as="input" type="password" name="note" showsError />
      <FormField as={'select'} multiple name="gift" showsError>
        {['card', 'box', 'bow'].map((gift) => (
          <option key={gift}>{gift}</option>
        ))}
      </FormField>
    </FormContext>,
  );
  const city = form.querySelector('[name=city]');
  expect(city?.getAttribute('aria-invalid')).toBe('true');
  const id = city?.getAttribute('aria-describedby')?.split(' ').at(-1);
  expect(form.querySelector(`[id="${id}"]`)?.textContent).toBe('Enter the city.');
  const sent = new FormData(form);
  expect([...sent].filter(([, value]) => value !== '')).toEqual([
    ['note', 'with love'],
    ['size', 'L'],
    ['extra', 'wrap'],
    ['gift', 'card'],
    ['gift', 'box'],
  ]);
});
