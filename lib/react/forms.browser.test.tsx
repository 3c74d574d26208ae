import { useState } from 'react';
import { hydrateRoot } from 'react-dom/client';
import { renderToString } from 'react-dom/server';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { page, userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { serveStatus } from '../testing/browser.ts';
import { handsOn, keysOf, newIntent, ONCE, OrderForm, open, QUICK, shop } from './form.fixture.tsx';
import { IdempotentForm } from './index.ts';

/** Forms of many shapes: whatever a browser puts into a form arrives, and forms do not disturb each other. */

describe('what arrives', () => {
  const sent = (orders: ReturnType<typeof shop>) => orders.attempts.at(-1)?.form as FormData;

  test('nested fieldsets, repeated names, and nothing that is disabled', async () => {
    const orders = shop();
    const { place, is } = await open(orders, {
      children: (
        <fieldset>
          <fieldset name="gifts">
            <input name="gift" defaultValue="card" />
            <input name="gift" defaultValue="box" />
          </fieldset>
          <fieldset disabled>
            <input name="hidden" defaultValue="no" />
          </fieldset>
        </fieldset>
      ),
    });
    await place();
    await is('hasSucceeded');
    expect(sent(orders).getAll('gift')).toEqual(['card', 'box']);
    expect([sent(orders).get('note'), sent(orders).has('hidden')]).toEqual(['tea', false]);
  });

  test('a file, and again with the retry', async () => {
    const orders = shop();
    orders.loseRequest();
    const { screen, place, is } = await open(orders, {
      children: <input type="file" name="receipt" aria-label="Receipt" />,
    });
    const receipt = new File(['paid'], 'receipt.txt', { type: 'text/plain' });
    await userEvent.upload(screen.getByLabelText('Receipt'), receipt);
    await place();
    await is('hasSucceeded');
    expect(orders.attempts).toHaveLength(2);
    const file = sent(orders).get('receipt') as File;
    expect([file.name, await file.text()]).toEqual(['receipt.txt', 'paid']);
  });

  const buttons = (
    <>
      <button type="submit" name="then" value="ship">
        Ship
      </button>
      <button type="submit" name="then" value="keep">
        Keep
      </button>
    </>
  );

  test.each(['Ship', 'Keep'])('the button that was pressed: %s', async (name) => {
    const orders = shop();
    const { button, is } = await open(orders, { children: buttons });
    await userEvent.click(button(name));
    await is('hasSucceeded');
    expect(sent(orders).getAll('then')).toEqual([name.toLowerCase()]);
  });

  test('another button is another payload: the first result is shown', async () => {
    const orders = shop();
    orders.loseAnswer();
    const { button, is, says } = await open(orders, { children: buttons, policy: ONCE });
    await userEvent.click(button('Ship'));
    await is('unknown');
    await userEvent.click(button('Keep'));
    await is('hasSucceeded');
    await says('This was already sent, and it went through. Order 1');
    expect(orders.effects.map(({ form }) => form.get('then'))).toEqual(['ship']);
  });

  test('a button with a formAction of its own goes its own way', async () => {
    const orders = shop();
    const other = shop({}, 'draft');
    const save = (form: FormData) => void other.action(null, form);
    const { button, is } = await open(orders, {
      children: (
        <button type="submit" formAction={save}>
          Save
        </button>
      ),
    });
    await userEvent.click(button('Save'));
    await expect.poll(() => other.attempts.length).toBe(1);
    await is('idle');
    expect(orders.attempts).toHaveLength(0);
  });

  test('a wizard: only its last step sends, with what was entered in all of them', async () => {
    const orders = shop();
    function Wizard() {
      const [step, setStep] = useState(1);
      return (
        <IdempotentForm action={orders.action} intent={intent} initialKey={initialKey} policy={QUICK}>
          <fieldset hidden={step !== 1}>
            <input name="note" aria-label="Note" />
          </fieldset>
          <fieldset hidden={step !== 2}>
            <input name="city" aria-label="City" />
          </fieldset>
          {step === 1 ? (
            <button key="next" type="button" onClick={() => setStep(2)}>
              Next
            </button>
          ) : (
            <button key="send" type="submit">
              Send
            </button>
          )}
        </IdempotentForm>
      );
    }
    const [intent, initialKey] = [newIntent(), orders.issueKey()];
    const screen = await render(<Wizard />);
    await userEvent.fill(screen.getByLabelText('Note'), 'cake');
    await userEvent.click(screen.getByRole('button', { name: 'Next' }));
    await userEvent.fill(screen.getByLabelText('City'), 'Rome');
    expect(orders.attempts).toHaveLength(0);
    await userEvent.click(screen.getByRole('button', { name: 'Send' }));
    await handsOn(screen).is('hasSucceeded');
    expect([sent(orders).get('note'), sent(orders).get('city')]).toEqual(['cake', 'Rome']);
    expect(keysOf(orders)).toEqual([initialKey]);
  });
});

describe('the first HTML', () => {
  test('has the key, attached to its form from wherever it lands, and hydrates as it is', async () => {
    const orders = shop();
    const [intent, initialKey] = [newIntent(), orders.issueKey()];
    const form = <OrderForm orders={orders} intent={intent} initialKey={initialKey} />;
    const container = document.body.appendChild(document.createElement('div'));
    container.innerHTML = renderToString(form);
    const field = container.querySelector('input[name=idempotency_key]') as HTMLInputElement;
    document.body.append(field); // as streaming may leave it
    expect(field.form).toBe(container.querySelector('form'));
    expect(new FormData(field.form as HTMLFormElement).get('idempotency_key')).toBe(initialKey);
    field.form?.prepend(field);

    const onRecoverableError = vi.fn();
    const root = hydrateRoot(container, form, { onRecoverableError });
    onTestFinished(() => {
      root.unmount();
      container.remove();
    });
    const { place, is } = handsOn({ getByRole: page.getByRole.bind(page), container });
    await place();
    await is('hasSucceeded');
    expect(keysOf(orders)).toEqual([initialKey]);
    expect(onRecoverableError).not.toHaveBeenCalled();
  });
});

describe('forms beside each other', () => {
  test('of different intents: one is unknown, the other one succeeds', async () => {
    const orders = shop();
    const forms = [1, 2].map(() => ({ intent: newIntent(), initialKey: orders.issueKey() }));
    const screen = await render(
      <main>
        {forms.map((form) => (
          <OrderForm key={form.intent} orders={orders} policy={ONCE} {...form} />
        ))}
      </main>,
    );
    const [first, second] = forms.map(({ intent }) => {
      const form = screen.getByRole('form', { name: intent });
      return handsOn({ getByRole: form.getByRole.bind(form), container: form.element() as HTMLElement });
    });
    orders.loseRequest();
    await first?.place();
    await first?.is('unknown');
    await second?.is('idle');
    await second?.place();
    await second?.is('hasSucceeded');
    await first?.is('unknown');
    expect(keysOf(orders)).toEqual(forms.map(({ initialKey }) => initialKey));
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('of another operation and another address, in other words', async () => {
    const refunds = shop({}, 'refund');
    onTestFinished(serveStatus([refunds], '/shop/keys'));
    refunds.loseAnswer();
    const props = { intent: newIntent('order'), operation: 'refund', statusUrl: '/shop/keys', policy: ONCE };
    const messages = { unknown: 'Wir wissen es noch nicht.', recovered: 'Schon geschehen.', checkAgain: 'Nachsehen' };
    const screen = await render(
      <IdempotentForm action={refunds.action} initialKey={refunds.issueKey()} messages={messages} {...props}>
        {({ status }) => <button type="submit">{status === 'idle' ? 'Erstatten' : 'Nochmal'}</button>}
      </IdempotentForm>,
    );
    const { button, says } = handsOn(screen);
    await userEvent.click(button('Erstatten'));
    await says('Wir wissen es noch nicht.');
    await expect.element(button('Nochmal')).toBeVisible();
    await userEvent.click(button('Nachsehen'));
    await says('Schon geschehen.');
    expectCounted(refunds.effects).toHaveLength(1);
  });

  test('a changed intent starts afresh, and the old one is still known when it comes back', async () => {
    const orders = shop();
    orders.loseAnswer();
    const { place, is, rerender, field, intent, initialKey } = await open(orders, { policy: ONCE });
    await place();
    await is('unknown');
    const other = { intent: newIntent(), initialKey: orders.issueKey() };
    await rerender(other);
    await is('idle');
    await expect.poll(field).toBe(other.initialKey);
    await place();
    await is('hasSucceeded');
    await rerender({ intent, initialKey });
    await is('hasSucceeded');
    expect(orders.attempts.map(({ key }) => key)).toEqual([initialKey, other.initialKey]);
    expect(orders.questions).toContainEqual({ method: 'GET', key: initialKey });
    expectCounted(orders.effects).toHaveLength(2);
  });
});
