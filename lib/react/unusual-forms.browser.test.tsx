import { type ReactNode, useState } from 'react';
import { createPortal, useFormStatus } from 'react-dom';
import { expect, test } from 'vitest';
import { cdp, userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { refuse, type TestOperation } from '../testing/browser.ts';
import { newIntent, ONCE, type Order, open, QUICK, sendElsewhere, shop } from './form.fixture.tsx';
import {
  IdempotencyKeyField,
  type IdempotentSubmit,
  type IdempotentSubmitOptions,
  SubmitStatus,
  useIdempotentSubmit,
} from './index.ts';

/** Forms that pages build in ways of their own: fields that go and come, keys that are held, code that submits. */

const QUESTION = 'This went through. Send it once more?';
const painted = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(go))));
const pointerDown = () => void window.dispatchEvent(new PointerEvent('pointerdown'));
const declining = () => shop({ run: () => refuse('failed', { executed: false, message: 'Declined.' }) });

type View = (submit: IdempotentSubmit<Order>) => ReactNode;
function Hook({
  orders,
  view,
  ...options
}: { orders: TestOperation<Order>; view: View } & Omit<IdempotentSubmitOptions<Order>, 'intent'> & { intent: string }) {
  return view(useIdempotentSubmit(orders.action, { policy: QUICK, ...options }));
}
async function custom(orders: TestOperation<Order>, view: View, options: Partial<IdempotentSubmitOptions<Order>> = {}) {
  let latest: IdempotentSubmit<Order> | undefined;
  const all: IdempotentSubmit<Order>[] = [];
  const props = { orders, intent: newIntent(), initialKey: orders.issueKey(), ...options };
  const screen = await render(
    <Hook
      {...props}
      view={(submit) => {
        latest = submit;
        all.push(submit);
        return view(submit);
      }}
    />,
  );
  const status = screen.getByRole('status');
  return {
    screen,
    all,
    submit: () => latest as IdempotentSubmit<Order>,
    button: (name: string) => screen.getByRole('button', { name }),
    place: () => userEvent.click(screen.getByRole('button', { name: 'Place order' })),
    is: (state: string) => expect.element(status).toHaveAttribute('data-state', state),
    says: (words: string) => expect.element(status).toHaveTextContent(words),
  };
}
const Body = ({ submit, children }: { submit: IdempotentSubmit<Order>; children?: ReactNode }) => (
  <>
    <IdempotencyKeyField {...submit.fieldProps} />
    {children}
    <button type="submit">Place order</button>
    <SubmitStatus submit={submit}>{(order) => <b>Order {order.id}</b>}</SubmitStatus>
  </>
);

function DisabledWhilePending({ children }: { children: ReactNode }) {
  return <fieldset disabled={useFormStatus().pending}>{children}</fieldset>;
}

const Note = () => <input aria-label="Note" name="note" defaultValue="tea" />;

test('B2 fields that are disabled by useFormStatus during the first attempt: the retry is not called off', async () => {
  const orders = shop();
  const { place, is } = await custom(orders, (submit) => (
    <form {...submit.formProps}>
      <Body submit={submit}>
        <DisabledWhilePending>
          <Note />
        </DisabledWhilePending>
      </Body>
    </form>
  ));
  const held = orders.hold('request');
  await place();
  await held.reached;
  await expect.poll(() => document.querySelector('fieldset')?.disabled).toBe(true);
  pointerDown(); // an impatient person
  held.lose();
  await is('hasSucceeded');
  expectCounted(orders.effects).toHaveLength(1);
});

test('B2 fields that are disabled while pending are reset after a success', async () => {
  const orders = shop();
  const { place, is, screen } = await custom(orders, (submit) => (
    <form {...submit.formProps}>
      <Body submit={submit}>
        <fieldset disabled={submit.isPending}>
          <Note />
        </fieldset>
      </Body>
    </form>
  ));
  await userEvent.fill(screen.getByRole('textbox', { name: 'Note' }), 'coffee');
  await place();
  await is('hasSucceeded');
  await painted();
  await expect.element(screen.getByRole('textbox', { name: 'Note' })).toHaveValue('tea');
});

test('B2 a form that gets a new React key after a success, with what was saved: unchanged values are asked about', async () => {
  const orders = shop();
  const { place, is, says, screen } = await custom(orders, (submit) => {
    const saved = submit.result?.ok ? submit.result.data.note : 'tea';
    return (
      <form {...submit.formProps} key={saved}>
        <Body submit={submit}>
          <input aria-label="Note" name="note" defaultValue={saved} />
        </Body>
      </form>
    );
  });
  await userEvent.fill(screen.getByRole('textbox', { name: 'Note' }), 'coffee');
  await place();
  await is('hasSucceeded');
  await painted();
  await expect.element(screen.getByRole('textbox', { name: 'Note' })).toHaveValue('coffee');
  await place();
  await says(QUESTION);
  expectCounted(orders.effects).toHaveLength(1);
});

test('B2 a form that a spinner replaces while it is pending: unchanged values are asked about', async () => {
  const orders = shop();
  function Inner({ submit }: { submit: IdempotentSubmit<Order> }) {
    const [note, setNote] = useState('tea');
    return submit.isPending ? (
      <p>Wait</p>
    ) : (
      <form {...submit.formProps}>
        <Body submit={submit}>
          <select aria-label="Note" name="note" value={note} onChange={({ target }) => setNote(target.value)}>
            <option>tea</option>
            <option>coffee</option>
          </select>
        </Body>
      </form>
    );
  }
  const { place, is, says, screen } = await custom(orders, (submit) => <Inner submit={submit} />);
  await userEvent.selectOptions(screen.getByRole('combobox'), 'coffee');
  await place();
  await is('hasSucceeded');
  await painted();
  await place();
  await says(QUESTION);
  expectCounted(orders.effects).toHaveLength(1);
});

test('B2 execute is the same function at each render', async () => {
  const orders = shop();
  const { place, is, all } = await custom(orders, (submit) => (
    <form {...submit.formProps}>
      <Body submit={submit} />
    </form>
  ));
  await place();
  await is('hasSucceeded');
  expect(new Set(all.map(({ execute }) => execute)).size).toBe(1);
});

test('B2 a double click, whose second click lands on "Send once more"', async () => {
  const orders = shop();
  const { place, is, says, button } = await custom(orders, (submit) => (
    <form {...submit.formProps}>
      <IdempotencyKeyField {...submit.fieldProps} />
      <SubmitStatus submit={submit} />
      <button type="submit">Place order</button>
    </form>
  ));
  await place();
  await is('hasSucceeded');
  await says('It went through.');
  await painted();
  const box = button('Place order').element().getBoundingClientRect();
  pointerDown();
  button('Place order')
    .element()
    .dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, detail: 1 }));
  await says(QUESTION);
  const under = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  expect.soft(under?.textContent).toBe('Send once more');
  pointerDown();
  under?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, detail: 2 }));
  await painted();
  await painted();
  expectCounted(orders.effects).toHaveLength(1);
});

test('B2 a wizard: the third quick click in one place is on the submit button, behind a refusal that was mended', async () => {
  const orders = shop({
    run: (form) =>
      form.get('note') === 'tea'
        ? refuse('failed', { executed: false, message: 'Declined.' })
        : { id: 1, note: String(form.get('note')) },
  });
  const { button, place, says, edit } = await open(orders, { children: <button type="button">Next</button> });
  await place();
  await says('Declined.');
  await painted();
  await edit('coffee');
  for (const [n, name] of [
    [1, 'Next'],
    [2, 'Next'],
    [3, 'Place order'],
  ] as const) {
    pointerDown();
    button(name)
      .element()
      .dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, detail: n }));
    await painted();
  }
  await expect.poll(() => orders.attempts.length).toBe(2);
});

test('B2 the question goes away with an edit', async () => {
  const orders = shop();
  const { place, says, is, edit, status } = await open(orders);
  await place();
  await is('hasSucceeded');
  await painted();
  await edit('coffee');
  await is('idle');
  await edit('tea');
  await place();
  await says(QUESTION);
  await edit('milk');
  await painted();
  await expect.element(status).not.toHaveTextContent(QUESTION);
});

const RAW = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13 };
/** As an operating system tells of a key: the key and its character are two things, and a browser's timers may come between. */
async function holdEnter(times: number) {
  const session = cdp() as unknown as { send(method: string, what: object): Promise<void> };
  for (let n = 0; n < times; n++) {
    await session.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...RAW, autoRepeat: n > 0 });
    await session.send('Input.dispatchKeyEvent', { type: 'char', ...RAW, text: '\r', autoRepeat: n > 0 });
    await new Promise((go) => setTimeout(go, 20));
  }
  await session.send('Input.dispatchKeyEvent', { type: 'keyUp', ...RAW });
}

test('B2 a key that is held down counts once with again="allow", also where its character comes later', async () => {
  const orders = shop();
  const { button, says } = await open(orders, { again: 'allow' });
  (button('Place order').element() as HTMLElement).focus();
  await holdEnter(20);
  await says('It went through.');
  expectCounted(orders.effects).toHaveLength(1);
});

test('B2 the same behind a refusal', async () => {
  const orders = declining();
  const { note, says } = await open(orders);
  await userEvent.click(note);
  await holdEnter(20);
  await says('Declined.');
  expectCounted(orders.attempts).toHaveLength(1);
});

test('B2 the same behind a refusal where the page empties a field (a CVC) by then', async () => {
  const orders = declining();
  const { is, screen } = await custom(orders, (submit) => (
    <form {...submit.formProps}>
      <Body submit={submit}>
        <input aria-label="Note" name="note" defaultValue="tea" key={submit.fieldProps.value} />
        <input aria-label="Other" name="other" />
      </Body>
    </form>
  ));
  await userEvent.click(screen.getByRole('textbox', { name: 'Note' }));
  await userEvent.fill(screen.getByRole('textbox', { name: 'Note' }), '123');
  await userEvent.click(screen.getByRole('textbox', { name: 'Other' }));
  await holdEnter(20);
  await is('hasErrored');
  expectCounted(orders.attempts).toHaveLength(1);
});

test('B2 a held key with again="allow" and a library that validates first', async () => {
  const orders = shop();
  const { button, says } = await custom(
    orders,
    (submit) => (
      <form
        {...submit.formProps}
        onSubmit={async (event) => {
          event.preventDefault();
          const values = new FormData(event.currentTarget);
          await new Promise((go) => setTimeout(go, 5));
          await submit.executeAsync(values);
        }}
      >
        <Body submit={submit} />
      </form>
    ),
    { again: 'allow' },
  );
  (button('Place order').element() as HTMLElement).focus();
  await userEvent.keyboard('{Enter>20/}');
  await says('It went through.');
  await painted();
  expectCounted(orders.effects).toHaveLength(1);
});

test('B2 a form in an iframe, by a portal: the next click behind a refusal counts', async () => {
  const orders = declining();
  const frame = document.createElement('iframe');
  document.body.append(frame);
  const body = frame.contentDocument?.body as HTMLElement;
  try {
    await custom(orders, (submit) => (
      <>
        {createPortal(
          <form {...submit.formProps}>
            <Body submit={submit}>
              <Note />
            </Body>
          </form>,
          body,
        )}
      </>
    ));
    const button = () => body.querySelector('button[type=submit]') as HTMLButtonElement;
    button().click();
    await expect.poll(() => body.querySelector('[role=status]')?.textContent).toBe('Declined.');
    await painted();
    button().click();
    await expect.poll(() => orders.attempts.length).toBe(2);
  } finally {
    frame.remove();
  }
});

test('B2 other values from code in the same tick are not lost silently', async () => {
  const orders = shop();
  const { submit, says } = await open(orders);
  const of = (note: string) => {
    const values = new FormData();
    values.set('note', note);
    return values;
  };
  await submit().executeAsync(of('tea'));
  await Promise.all([submit().executeAsync(of('coffee')), submit().executeAsync(of('milk'))]);
  await says(QUESTION);
  submit().sendAgain();
  await expect.poll(() => orders.effects.map(({ data }) => data.note)).toEqual(['tea', 'coffee', 'milk']);
});

test('B2 a quantity that a held arrow changes, sent at each change: the last one is not lost', async () => {
  const orders = shop();
  const { screen } = await custom(orders, (submit) => (
    <form {...submit.formProps} onInput={undefined}>
      <Body submit={submit}>
        <input
          aria-label="Quantity"
          type="number"
          name="note"
          defaultValue="0"
          onChange={({ target }) => {
            const values = new FormData();
            values.set('note', target.value);
            void submit.executeAsync(values);
          }}
        />
      </Body>
    </form>
  ));
  const field = screen.getByRole('spinbutton', { name: 'Quantity' });
  await userEvent.click(field);
  await userEvent.keyboard('{ArrowUp}');
  await expect.poll(() => orders.effects.length).toBe(1);
  await painted();
  await userEvent.keyboard('{ArrowUp>5/}');
  await painted();
  await expect.poll(() => orders.effects.at(-1)?.data.note).toBe(String((field.element() as HTMLInputElement).value));
});

test('B2 a press behind what another tab has done is not silent', async () => {
  const orders = shop();
  const { submit, place, is, says, edit, intent } = await open(orders);
  await edit('coffee');
  await place();
  await is('hasSucceeded');
  await painted();
  await edit('milk');
  await is('idle');
  const key = orders.issueKey();
  await sendElsewhere(orders, key, 'other');
  const channel = new BroadcastChannel('oncekit');
  channel.postMessage([intent, key]);
  await says('This was already sent, and it went through.');
  channel.close();
  await painted();
  await place();
  await painted();
  await painted();
  expect(submit().canSendAgain || submit().isPending || orders.attempts.length > 2).toBe(true);
});

test('B2 what a password manager fills in within two frames of the answer', async () => {
  const orders = shop();
  let page: Awaited<ReturnType<typeof open>> | undefined;
  page = await open(orders, {
    onSettled: () =>
      setTimeout(() => {
        const field = page?.note.element() as HTMLInputElement;
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(field, 'coffee');
        field.dispatchEvent(new Event('input', { bubbles: true }));
      }),
  });
  await page.place();
  await page.is('idle');
});

test('B2 again="allow": other values that are pressed for while the first are out are not asked about', async () => {
  const orders = shop();
  const held = orders.hold();
  const { place, is, says, note } = await open(orders, { again: 'allow' });
  await place();
  await held.reached;
  (note.element() as HTMLInputElement).value = 'coffee';
  await place();
  await is('checking');
  held.release();
  await says('Order');
  await painted();
  await expect.element(note).toBeVisible();
  expect(document.querySelector('[role=status]')?.textContent).not.toContain(QUESTION);
});

test('B2 a press behind what was found after a reload is asked about, and goes out at a person’s word', async () => {
  const orders = shop();
  orders.loseAnswer();
  const first = await open(orders, { policy: ONCE });
  await first.place();
  await first.is('unknown');
  await first.screen.unmount();
  const { place, says, button } = await open(orders, { intent: first.intent, initialKey: orders.issueKey() });
  await says('This was already sent, and it went through.');
  await painted();
  await place();
  await says(QUESTION);
  expectCounted(orders.attempts).toHaveLength(1);
  await userEvent.click(button('Send once more'));
  await expect.poll(() => orders.effects.length).toBe(2);
});
