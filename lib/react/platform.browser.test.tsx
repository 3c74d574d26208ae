import { Component, createElement, type ReactNode, startTransition, useOptimistic, useState } from 'react';
import { createPortal, useFormStatus } from 'react-dom';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { refuse, type TestOperation } from '../testing/browser.ts';
import { handsOn, newIntent, ONCE, type Order, open, QUICK, sendElsewhere, shop } from './form.fixture.tsx';
import { IdempotentForm, type IdempotentFormProps, SubmitStatus, useIdempotentSubmit } from './index.ts';

/** A form beside what else is on a page: other forms, dialogs, translators, React's own states. */

afterEach(() => vi.restoreAllMocks());

type Props = Partial<IdempotentFormProps<Order>> & { orders: TestOperation<Order> };

function Whole({ orders, children, ...props }: Props) {
  const [initialKey] = useState(orders.issueKey);
  const [intent] = useState(newIntent);
  return (
    <IdempotentForm action={orders.action} intent={intent} initialKey={initialKey} policy={QUICK} {...props}>
      <label>
        Note <input name="note" defaultValue="tea" />
      </label>
      {children as ReactNode}
      <button type="submit">Place order</button>
    </IdempotentForm>
  );
}

async function show(props: Props) {
  const screen = await render(<Whole {...props} />);
  return { ...handsOn(screen), screen };
}

/** React's own pending state of the form around it. */
function Pending() {
  return <em>{useFormStatus().pending ? 'pending' : 'at rest'}</em>;
}

describe('only its own events', () => {
  function AddressDialog({ onSave }: { onSave: (form: FormData) => void }) {
    return createPortal(
      <div role="dialog">
        <form aria-label="Address" action={onSave}>
          <input aria-label="Street" name="street" />
          <button type="submit">Save address</button>
        </form>
        <input aria-label="Search" />
      </div>,
      document.body,
    );
  }

  test('A1 a form in a portal inside sends itself, and not the form around it', async () => {
    const orders = shop();
    const saved = vi.fn();
    const { is, place, screen } = await show({
      orders,
      children: <AddressDialog onSave={(form) => saved(form.get('street'))} />,
    });
    await userEvent.type(screen.getByRole('textbox', { name: 'Street' }), 'Main St{Enter}');
    await vi.waitFor(() => expect(saved).toHaveBeenCalledWith('Main St'));
    await is('idle');
    await userEvent.type(screen.getByRole('textbox', { name: 'Search' }), 'x{Enter}');
    await is('idle');
    await place();
    await is('hasSucceeded');
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('B2 what is typed into it is no edit of this form', async () => {
    const orders = shop();
    const { is, place, edit, screen } = await show({ orders, children: <AddressDialog onSave={() => {}} /> });
    await place();
    await is('hasSucceeded');
    await userEvent.type(screen.getByRole('textbox', { name: 'Street' }), 'Main St');
    await userEvent.type(screen.getByRole('textbox', { name: 'Search' }), 'x');
    await is('hasSucceeded');
    await edit('coffee');
    await is('idle');
  });

  test('a field of a component library is its own, whatever `form` is to it', async () => {
    customElements.define(
      'own-field',
      class extends HTMLElement {
        static formAssociated = true;
        form = '';
        connectedCallback() {
          const internals = this.attachInternals();
          this.attachShadow({ mode: 'open' }).innerHTML = '<input aria-label="Inner">';
          this.shadowRoot?.addEventListener('input', ({ target }) =>
            internals.setFormValue((target as HTMLInputElement).value),
          );
        }
      },
    );
    const orders = shop();
    const { is, place, screen } = await show({ orders, children: createElement('own-field', { name: 'inner' }) });
    await place();
    await is('hasSucceeded');
    const host = screen.container.querySelector('own-field') as HTMLElement;
    await userEvent.type(host.shadowRoot?.querySelector('input') as HTMLInputElement, 'x');
    await is('idle');
  });

  test('a field in a portal that is tied to the form is its own', async () => {
    const orders = shop();
    function Tied() {
      const submit = useIdempotentSubmit(orders.action, { intent: 'order:3', initialKey: 'tied', policy: QUICK });
      return (
        <form {...submit.formProps}>
          <input {...submit.fieldProps} type="hidden" />
          <button type="submit">Place order</button>
          {createPortal(<input aria-label="Tied" name="note" form={submit.formProps.id} />, document.body)}
          <p>{submit.status}</p>
        </form>
      );
    }
    const screen = await render(<Tied />);
    await userEvent.click(screen.getByRole('button'));
    await expect.element(screen.getByText('hasSucceeded')).toBeVisible();
    await userEvent.type(screen.getByRole('textbox', { name: 'Tied' }), 'x');
    await expect.element(screen.getByText('idle')).toBeVisible();
  });

  test('a field inside that belongs to another form is no field of this one', async () => {
    const orders = shop();
    const other = document.body.appendChild(Object.assign(document.createElement('form'), { id: 'other' }));
    onTestFinished(() => other.remove());
    const { is, place, screen } = await show({ orders, children: <input aria-label="Elsewhere" form="other" /> });
    await place();
    await is('hasSucceeded');
    await userEvent.type(screen.getByRole('textbox', { name: 'Elsewhere' }), 'x');
    await is('hasSucceeded');
  });

  test('a button that closes a dialog closes it, with its value, and sends nothing', async () => {
    const orders = shop();
    const screen = await render(
      <dialog
        ref={(dialog) => {
          dialog?.showModal();
        }}
      >
        <Whole orders={orders}>
          <button type="submit" formMethod="dialog" value="kept">
            Cancel
          </button>
          <button ref={(button) => button?.setAttribute('formmethod', 'DIALOG')} type="submit">
            Close
          </button>
        </Whole>
      </dialog>,
    );
    const dialog = screen.container.querySelector('dialog') as HTMLDialogElement;
    await userEvent.click(screen.getByRole('button', { name: 'Cancel' }));
    expect([dialog.open, dialog.returnValue]).toEqual([false, 'kept']);
    dialog.showModal();
    await userEvent.click(screen.getByRole('button', { name: 'Close' }));
    expect([dialog.open, dialog.returnValue]).toEqual([false, 'kept']);
    expect(orders.attempts).toEqual([]);
    dialog.showModal();
    await handsOn(screen).place();
    await handsOn(screen).is('hasSucceeded');
  });

  test('so does one that stands elsewhere and is tied to the form', async () => {
    const orders = shop();
    function Elsewhere() {
      const submit = useIdempotentSubmit(orders.action, { intent: 'order:8', initialKey: 'elsewhere', policy: QUICK });
      return (
        <>
          <dialog open>
            <form {...submit.formProps}>
              <input {...submit.fieldProps} type="hidden" />
            </form>
          </dialog>
          <button type="submit" form={submit.formProps.id} formMethod="dialog">
            Cancel
          </button>
        </>
      );
    }
    const screen = await render(<Elsewhere />);
    await userEvent.click(screen.getByRole('button'));
    expect(screen.container.querySelector('dialog')?.open).toBe(false);
    expect(orders.attempts).toEqual([]);
  });

  test('a button for another window is React’s, as without the kit, and its answer is shown', async () => {
    const orders = shop();
    const held = orders.hold('answer');
    const { is, says, screen } = await show({
      orders,
      children: (
        <button type="submit" formTarget="_blank">
          Preview
        </button>
      ),
    });
    await userEvent.click(screen.getByRole('button', { name: 'Preview' }));
    await held.reached;
    await is('idle');
    held.release();
    await is('hasSucceeded');
    await says('It went through.');
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('B4 the answer to such a button is nothing of another intent', async () => {
    const orders = shop();
    const keys = [orders.issueKey(), orders.issueKey()] as const;
    const page = (n: 0 | 1) => (
      <Whole orders={orders} intent={`order:of-${n}`} initialKey={keys[n]}>
        <button type="submit" formTarget="_blank">
          Preview
        </button>
        <Pending />
      </Whole>
    );
    const screen = await render(page(0));
    const { is, field } = handsOn(screen);
    const held = orders.hold('answer');
    await userEvent.click(screen.getByRole('button', { name: 'Preview' }));
    await held.reached;
    await expect.element(screen.getByText('pending')).toBeVisible();
    await screen.rerender(page(1));
    held.release();
    await expect.element(screen.getByText('at rest')).toBeVisible();
    await is('idle');
    expect(field()).toBe(keys[1]);
  });

  test('fields may be named like what a form has itself', async () => {
    const orders = shop({ run: () => refuse('validation', { executed: false, fieldErrors: { id: ['Taken.'] } }) });
    const { is, place, screen } = await show({
      orders,
      children: (
        <>
          {['elements', 'id', 'reset', 'target', 'method'].map((name) => (
            <input key={name} name={name} aria-label={name} />
          ))}
        </>
      ),
    });
    await place();
    await is('hasErrored');
    const field = screen.getByRole('textbox', { name: 'id' });
    await expect.element(field).toHaveFocus();
    await expect.element(field).toHaveAccessibleDescription('Taken.');
  });

  test('B3 a browser without channels between tabs breaks no form', async () => {
    vi.stubGlobal(
      'BroadcastChannel',
      class {
        constructor() {
          throw new DOMException('blocked', 'SecurityError');
        }
      },
    );
    onTestFinished(() => void vi.unstubAllGlobals());
    const orders = shop();
    const { is, place } = await show({ orders });
    await place();
    await is('hasSucceeded');
  });
});

describe('B7 a translated page', () => {
  /** As Google Translate does: each text goes into an element of its own, also what comes later. */
  function translate(root: Node) {
    const wrap = (node: Node) => {
      const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
      const found: Text[] = [];
      while (texts.nextNode()) found.push(texts.currentNode as Text);
      if (node instanceof Text) found.push(node);
      for (const text of found) {
        if (!text.data.trim() || text.parentElement?.closest('font')) continue;
        const font = document.createElement('font');
        text.replaceWith(font);
        font.append(Object.assign(document.createElement('font'), { textContent: `«${text.data}»` }));
      }
    };
    const translator = new MutationObserver((seen) => {
      for (const { addedNodes, target } of seen)
        for (const node of addedNodes.length ? addedNodes : [target]) wrap(node);
    });
    translator.observe(root, { childList: true, subtree: true, characterData: true });
    wrap(root);
    onTestFinished(() => translator.disconnect());
  }

  class Boundary extends Component<{ children: ReactNode }, { error?: unknown }> {
    override state: { error?: unknown } = {};
    static getDerivedStateFromError = (error: unknown) => ({ error });
    override render() {
      return this.state.error ? `broken: ${this.state.error}` : this.props.children;
    }
  }

  test('it says each state, and survives an edit, a refusal and another success', async () => {
    const answers = [refuse('validation', { executed: false, fieldErrors: { note: ['Sold out.'] } })];
    const orders = shop({ run: () => answers.shift() ?? { id: 7, note: 'tea' } });
    const screen = await render(
      <Boundary>
        <Whole orders={orders} />
      </Boundary>,
    );
    const { place, edit, says, is } = handsOn(screen);
    translate(screen.container);
    await place();
    await is('hasErrored');
    await says('«Some fields need your attention.»');
    await edit('milk');
    await place();
    await says('«It went through.»');
    await edit('coffee');
    await is('idle');
    await expect.element(handsOn(screen).status).toBeEmptyDOMElement();
    await place();
    await says('«It went through.»');
    expect(screen.container.textContent).not.toContain('broken');
  });

  test('what a page shows behind the words may be a text', async () => {
    const orders = shop();
    function Told() {
      const submit = useIdempotentSubmit(orders.action, { intent: 'order:4', initialKey: 'told', policy: QUICK });
      return (
        <form {...submit.formProps}>
          <input {...submit.fieldProps} type="hidden" />
          <input aria-label="Note" name="note" />
          <button type="submit">Place order</button>
          <SubmitStatus submit={submit}>{({ id }) => `Order ${id}`}</SubmitStatus>
        </form>
      );
    }
    const screen = await render(
      <Boundary>
        <Told />
      </Boundary>,
    );
    const { place, edit, says, is } = handsOn(screen);
    translate(screen.container);
    await place();
    await says('«It went through.» «Order 1»');
    await edit('coffee');
    await is('idle');
  });

  test('what a page shows behind the words goes and comes', async () => {
    const orders = shop();
    const { place, edit, says, is, screen } = await open(orders);
    translate(screen.container);
    await place();
    await says('«It went through.» «Order »«1»');
    await edit('coffee');
    await is('idle');
    await place();
    await is('hasSucceeded');
    await says('2');
  });
});

describe('React’s own states', () => {
  test('useFormStatus is pending until the first attempt has ended, and a navigation goes on behind that', async () => {
    const orders = shop();
    let navigate = () => {};
    function Place() {
      const [page, setPage] = useState('here');
      navigate = () => startTransition(() => setPage('there'));
      return <p>{page}</p>;
    }
    const first = orders.hold('answer');
    const { is, place, screen } = await show({ orders, children: <Pending /> });
    await render(<Place />, { container: document.body.appendChild(document.createElement('div')) });
    const pending = screen.getByText(/^(pending|at rest)$/);
    await expect.element(pending).toHaveTextContent('at rest');
    await place();
    await first.reached;
    await expect.element(pending).toHaveTextContent('pending');
    const second = orders.hold('answer');
    first.lose();
    await second.reached;
    await is('retrying');
    await expect.element(pending).toHaveTextContent('at rest');
    navigate();
    await expect.poll(() => document.body.textContent).toContain('there');
    await is('retrying');
    second.release();
    await is('hasSucceeded');
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('useFormStatus is pending no longer while it is found out why the only attempt was lost', async () => {
    const orders = shop();
    const only = orders.hold('answer');
    const { place, screen } = await show({ orders, policy: ONCE, children: <Pending /> });
    const pending = screen.getByText(/^(pending|at rest)$/);
    await place();
    await only.reached;
    await expect.element(pending).toHaveTextContent('pending');
    let answer = (_: Response) => {};
    const looks = vi.spyOn(window, 'fetch').mockReturnValue(new Promise((go) => (answer = go)));
    only.lose();
    await expect.poll(() => looks.mock.calls.length).toBe(1);
    await expect.element(pending).toHaveTextContent('at rest');
    answer(new Response('Sign in', { status: 401 }));
    looks.mockRestore();
  });

  test('a form that goes while it is pending holds up no navigation', async () => {
    const orders = shop();
    const held = orders.hold();
    function Page() {
      const [page, setPage] = useState('form');
      return (
        <>
          <button type="button" onClick={() => setPage('nothing')}>
            Close
          </button>
          <button type="button" onClick={() => startTransition(() => setPage('there'))}>
            Go
          </button>
          {page === 'form' ? <Whole orders={orders} /> : <p>{page}</p>}
        </>
      );
    }
    const screen = await render(<Page />);
    await handsOn(screen).place();
    await held.reached;
    await userEvent.click(screen.getByRole('button', { name: 'Close' }));
    await userEvent.click(screen.getByRole('button', { name: 'Go' }));
    await expect.element(screen.getByText('there')).toBeVisible();
    held.release();
  });

  test('useOptimistic in an action of the page’s own shows its value, and React complains of nothing', async () => {
    const errors = vi.spyOn(console, 'error');
    const orders = shop();
    function Likes() {
      const [likes, setLikes] = useState(1);
      const [shown, showSoon] = useOptimistic(likes);
      const submit = useIdempotentSubmit<Order>(
        async (previous, form) => {
          showSoon((now) => now + 1);
          const told = await orders.action(previous, form);
          if (told.ok) setLikes(2);
          return told;
        },
        { intent: 'like:1', initialKey: 'k', policy: QUICK },
      );
      return (
        <form {...submit.formProps}>
          <input {...submit.fieldProps} type="hidden" />
          <button type="submit">{shown} likes</button>
          <output>{submit.status}</output>
        </form>
      );
    }
    const first = orders.hold('answer');
    const screen = await render(<Likes />);
    await userEvent.click(screen.getByRole('button'));
    await first.reached;
    await expect.element(screen.getByRole('button', { name: '2 likes' })).toBeVisible();
    const second = orders.hold('answer');
    first.lose();
    await second.reached;
    second.release();
    await expect.element(screen.getByText('hasSucceeded')).toBeVisible();
    await expect.element(screen.getByRole('button', { name: '2 likes' })).toBeVisible();
    expect(errors.mock.calls).toEqual([]);
  });

  test('fields are as new after a success', async () => {
    const orders = shop();
    const { is, place, edit, note } = await show({ orders });
    await edit('coffee');
    await place();
    await is('hasSucceeded');
    await expect.element(note).toHaveValue('tea');
    expect(orders.effects.map(({ data }) => data.note)).toEqual(['coffee']);
    await edit('milk');
    await place();
    await expect.poll(() => orders.effects.map(({ data }) => data.note)).toEqual(['coffee', 'milk']);
  });

  test('a field that the page controls goes on showing what the page says', async () => {
    const orders = shop();
    function Controlled() {
      const [isGift, setGift] = useState(false);
      const [size, setSize] = useState('s');
      const submit = useIdempotentSubmit(orders.action, { intent: 'order:2', initialKey: 'k', policy: QUICK });
      return (
        <form {...submit.formProps}>
          <input {...submit.fieldProps} type="hidden" />
          <label>
            Gift
            <input type="checkbox" name="gift" checked={isGift} onChange={(event) => setGift(event.target.checked)} />
          </label>
          <select aria-label="Size" name="size" value={size} onChange={(event) => setSize(event.target.value)}>
            <option>s</option>
            <option>m</option>
          </select>
          <button type="submit">Send</button>
          <p>{submit.status}</p>
        </form>
      );
    }
    const screen = await render(<Controlled />);
    const [gift, size] = [screen.getByRole('checkbox'), screen.getByRole('combobox')];
    await userEvent.click(gift);
    await userEvent.selectOptions(size, 'm');
    await userEvent.click(screen.getByRole('button'));
    await expect.element(screen.getByText('hasSucceeded')).toBeVisible();
    await new Promise((resolve) => setTimeout(resolve)); // behind the reset
    await expect.element(gift).toBeChecked();
    await expect.element(size).toHaveValue('m');
  });

  test('a setter in an action of the page’s own is seen while it runs', async () => {
    const orders = shop();
    function Uploading() {
      const [step, setStep] = useState('none');
      const submit = useIdempotentSubmit<Order>(
        async (previous, form) => {
          setStep('uploading');
          return await orders.action(previous, form);
        },
        { intent: 'order:5', initialKey: 'uploading', policy: QUICK },
      );
      return (
        <form {...submit.formProps}>
          <input {...submit.fieldProps} type="hidden" />
          <button type="submit">Send</button>
          <p>{step}</p>
        </form>
      );
    }
    const held = orders.hold('answer');
    const screen = await render(<Uploading />);
    await userEvent.click(screen.getByRole('button'));
    await held.reached;
    await expect.element(screen.getByText('uploading')).toBeVisible();
    held.release();
  });

  test('B2 a page that clears its form’s state at a reset does not free the form by ours', async () => {
    const orders = shop();
    const action = vi.fn(orders.action);
    function Clearing() {
      const submit = useIdempotentSubmit(action, { intent: 'order:6', initialKey: 'clearing', policy: QUICK });
      return (
        <form {...submit.formProps} onReset={submit.reset}>
          <input {...submit.fieldProps} type="hidden" />
          <input aria-label="Note" name="note" />
          <button type="submit">Place order</button>
          <SubmitStatus submit={submit} />
        </form>
      );
    }
    const { place, edit, note, is } = handsOn(await render(<Clearing />));
    await edit('milk');
    await place();
    await expect.element(note).toHaveValue('');
    await is('hasSucceeded');
    await place();
    expect(orders.attempts).toHaveLength(1);
  });

  test('B7 a field outside that is tied to the form keeps what was typed while it was sent', async () => {
    const orders = shop();
    const action = vi.fn(orders.action);
    function Outside() {
      const submit = useIdempotentSubmit(action, { intent: 'order:7', initialKey: 'outside', policy: QUICK });
      return (
        <>
          <form {...submit.formProps}>
            <input {...submit.fieldProps} type="hidden" />
            <button type="submit">Place order</button>
            <SubmitStatus submit={submit} />
          </form>
          <textarea aria-label="Note" name="note" form={submit.formProps.id} defaultValue="" />
        </>
      );
    }
    const { place, note, is } = handsOn(await render(<Outside />));
    await userEvent.type(note, 'first');
    const held = orders.hold('answer');
    await place();
    await held.reached;
    await userEvent.type(note, ' and more');
    held.release();
    await is('hasSucceeded');
    await action.mock.results.at(-1)?.value;
    await new Promise((resolve) => setTimeout(resolve));
    await expect.element(note).toHaveValue('first and more');
  });

  test('B7 they stay after a refusal, and where they were edited while it was sent', async () => {
    const orders = shop({
      run: (form) => (form.get('note') === 'milk' ? refuse('failed', { executed: false }) : { id: 1, note: '' }),
    });
    const action = vi.fn(orders.action);
    const { is, place, edit, note } = await show({ orders, action });
    await edit('milk');
    await place();
    await is('hasErrored');
    await expect.element(note).toHaveValue('milk');
    await edit('coffee');
    const held = orders.hold('answer');
    await place();
    await held.reached;
    await edit('coffee with milk');
    held.release();
    await is('hasSucceeded');
    await action.mock.results.at(-1)?.value;
    await new Promise((resolve) => setTimeout(resolve)); // behind all that follows from the answer
    await expect.element(note).toHaveValue('coffee with milk');
  });
});

describe('A10 the page does not move by itself', () => {
  const tall = <div style={{ height: '3000px' }} />;

  test('for a form at its end that finds out what became of an earlier submit', async () => {
    const orders = shop();
    const intent = newIntent();
    const initialKey = orders.issueKey();
    const page = (
      <>
        {tall}
        <Whole orders={orders} intent={intent} initialKey={initialKey} policy={ONCE} />
      </>
    );
    const lost = orders.hold('answer');
    const earlier = await render(page);
    await handsOn(earlier).place();
    await lost.reached;
    await earlier.unmount();
    lost.release();
    window.scrollTo(0, 0);
    const screen = await render(page);
    await handsOn(screen).is('hasSucceeded');
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    expect(window.scrollY).toBe(0);
  });

  test('for what another tab has done behind an earlier submit', async () => {
    const orders = shop();
    const [intent, initialKey, other] = [newIntent(), orders.issueKey(), orders.issueKey()];
    const screen = await render(
      <>
        <Whole orders={orders} intent={intent} initialKey={initialKey} />
        {tall}
      </>,
    );
    const { place, is, edit } = handsOn(screen);
    await place();
    await is('hasSucceeded');
    await edit('milk');
    await is('idle');
    await sendElsewhere(orders, other);
    window.scrollTo(0, 2500);
    const channel = new BroadcastChannel('oncekit');
    channel.postMessage([intent, other]);
    await is('hasSucceeded');
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    channel.close();
    expect(window.scrollY).toBeGreaterThan(2000);
  });

  test('but what a person has sent is brought into sight', async () => {
    const orders = shop();
    const screen = await render(
      <>
        <Whole orders={orders} />
        {tall}
      </>,
    );
    const { place, is, button } = handsOn(screen);
    button('Place order')
      .element()
      .addEventListener('click', () => window.scrollTo(0, 3000));
    await place();
    await is('hasSucceeded');
    await expect.poll(() => window.scrollY).toBeLessThan(1500);
  });
});
