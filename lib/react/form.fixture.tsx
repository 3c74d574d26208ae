import { type ReactNode, StrictMode } from 'react';
import { expect, onTestFinished } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { serveStatus, type TestOperation, type TestOperationOptions, testOperation } from '../testing/browser.ts';
import {
  IdempotencyKeyField,
  type IdempotentSubmit,
  type IdempotentSubmitOptions,
  type RetryPolicy,
  type Status,
  SubmitStatus,
  useIdempotentSubmit,
} from './index.ts';

/** The component tests share these: a shop in memory, a small real form, and hands and eyes for it. */

export interface Order {
  id: number;
  note: string;
}

/** Patient enough for a test, where nothing takes time. */
export const QUICK: Partial<RetryPolicy> = { attempts: 4, baseMs: 30, capMs: 60, totalMs: 5000, pollMs: 5000 };
/** Sends once: what is lost is left to a person. */
export const ONCE: Partial<RetryPolicy> = { ...QUICK, attempts: 1 };
/** And asks once. */
export const IMPATIENT: Partial<RetryPolicy> = { ...ONCE, pollMs: 0 };

/** An operation that places an order for the note in the form, and its status route until the test ends. */
export function shop(options: Partial<TestOperationOptions<Order>> = {}, name = 'checkout'): TestOperation<Order> {
  const orders: TestOperation<Order> = testOperation<Order>(name, {
    run: (form) => ({ id: orders.effects.length + 1, note: String(form.get('note')) }),
    ...options,
  });
  onTestFinished(serveStatus([orders]));
  return orders;
}

/** Storage is shared by all tests of a run: each has intents of its own. */
export const newIntent = (name = 'checkout') => `${name}:${crypto.randomUUID()}`;

type FormOptions = Partial<IdempotentSubmitOptions<Order>>;
export interface OrderFormProps extends FormOptions {
  orders: TestOperation<Order>;
  intent: string;
  initialKey: string;
  children?: ReactNode;
  /** Gets the hook's answer at each render. */
  onRender?: ((submit: IdempotentSubmit<Order>) => void) | undefined;
}

export function OrderForm({ orders, children, onRender, ...options }: OrderFormProps) {
  const submit = useIdempotentSubmit(orders.action, { policy: QUICK, ...options });
  onRender?.(submit);
  return (
    <form {...submit.formProps} aria-label={options.intent}>
      <IdempotencyKeyField {...submit.fieldProps} />
      <label>
        Note <input name="note" defaultValue="tea" />
      </label>
      {children}
      <button type="submit">Place order</button>
      <SubmitStatus submit={submit}>{(order) => <b>Order {order.id}</b>}</SubmitStatus>
    </form>
  );
}

export type Page = Awaited<ReturnType<typeof open>>;

/** Opens a page with the form. Opened again with the same intent it is the reload of the page. */
export async function open(orders: TestOperation<Order>, options: FormOptions & { children?: ReactNode } = {}) {
  const props = { orders, intent: newIntent(), initialKey: orders.issueKey(), ...options };
  const renders: IdempotentSubmit<Order>[] = [];
  const view = (more: Partial<OrderFormProps>) => (
    <StrictMode>
      <OrderForm {...props} {...more} onRender={(submit) => renders.push(submit)} />
    </StrictMode>
  );
  const screen = await render(view({}));
  return {
    ...props,
    screen,
    ...handsOn(screen, renders),
    rerender: (more: FormOptions) => screen.rerender(view(more)),
  };
}

type Screen = Pick<Awaited<ReturnType<typeof render>>, 'getByRole' | 'container'>;

export function handsOn(screen: Screen, renders: IdempotentSubmit<Order>[] = []) {
  const status = screen.getByRole('status');
  const note = screen.getByRole('textbox', { name: 'Note' });
  const button = (name: string) => screen.getByRole('button', { name });
  return {
    status,
    note,
    button,
    checkAgain: button('Check again'),
    startOver: button('Start over'),
    /** The hook's latest return value. */
    submit: () => renders.at(-1) as IdempotentSubmit<Order>,
    /** The value of the hidden field. */
    field: () => screen.container.querySelector<HTMLInputElement>('[name=idempotency_key]')?.value,
    /** Every state that was rendered, once for each change. */
    states: () => renders.map((one) => one.status).filter((one, n, all) => one !== all[n - 1]),
    place: () => userEvent.click(button('Place order')),
    edit: (text: string) => userEvent.fill(note, text),
    is: (state: Status) => expect.element(status).toHaveAttribute('data-state', state),
    says: (words: string) => expect.element(status).toHaveTextContent(words),
  };
}

/** The keys under which the attempts went out. */
export const keysOf = (orders: TestOperation<Order>) => orders.attempts.map(({ key }) => key);

/** The same form, sent from elsewhere: by a native submit, or by a tab that shares the key. */
export function sendElsewhere(orders: TestOperation<Order>, key: string, note = 'tea') {
  const form = new FormData();
  form.set('note', note);
  form.set('idempotency_key', key);
  return orders.action(null, form);
}
