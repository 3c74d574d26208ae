import { type ReactNode, useState } from 'react';
import { createPortal } from 'react-dom';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { userEvent } from 'vitest/browser';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { IMPATIENT, keysOf, newIntent, ONCE, open, QUICK, shop } from './form.fixture.tsx';

/** What is an edit: by what a form would send, whatever events came or did not (contract B2, B4). */

const QUESTION = 'This went through. Send it once more?';

/** A choice as component libraries make it: in a portal, and with a field whose value changes without an event. */
function Choice({ hidden = false }: { hidden?: boolean }) {
  const [size, setSize] = useState('S');
  const chosen = { name: 'size', value: size, onChange: () => {} };
  return (
    <>
      {hidden ? (
        <input type="hidden" {...chosen} />
      ) : (
        <select aria-hidden {...chosen}>
          <option>S</option>
          <option>L</option>
        </select>
      )}
      {['S', 'L'].map((each) =>
        createPortal(
          <button key={each} type="button" onClick={() => setSize(each)}>
            Size {each}
          </button>,
          document.body,
          each,
        ),
      )}
    </>
  );
}

/** A field that changes by itself. */
const Ticking = ({ name }: { name: string }) => <input type="hidden" name={name} defaultValue="0" />;

async function shown(children?: ReactNode, policy = QUICK) {
  const orders = shop({
    run: (form) => ({ id: orders.effects.length + 1, note: String(form.get('size') ?? form.get('note')) }),
  });
  const page = await open(orders, { policy, children });
  const { screen } = page;
  const field = (name: string) => document.querySelector<HTMLInputElement>(`[name="${name}"]`) as HTMLInputElement;
  return {
    ...page,
    tick(name: string, value: string) {
      field(name).value = value;
    },
    choose: (size: string) => userEvent.click(screen.getByRole('button', { name: `Size ${size}` })),
    sendAgain: page.button('Send once more'),
    notes: () => orders.effects.map(({ data }) => data.note),
    async succeeded() {
      await page.place();
      await page.is('hasSucceeded');
      await page.says('It went through.');
    },
  };
}

describe('B4 behind a success', () => {
  test('a choice that no event tells of is another intent, under the next key', async () => {
    const { orders, succeeded, choose, place, notes, states } = await shown(<Choice />);
    await succeeded();
    await choose('L');
    await place();
    await expect.poll(notes).toEqual(['S', 'L']);
    expect(new Set(keysOf(orders)).size).toBe(2);
    expect(states()).not.toContain('checking');
  });

  test('so is a field that is tied to the form and stands elsewhere', async () => {
    const tied = createPortal(<input aria-label="Size" name="size" defaultValue="S" />, document.body);
    const { succeeded, place, notes, is, screen, submit } = await shown(tied);
    screen.getByRole('textbox', { name: 'Size' }).element().setAttribute('form', submit().formProps.id);
    await succeeded();
    await userEvent.fill(screen.getByRole('textbox', { name: 'Size' }), 'L');
    await is('idle');
    await place();
    await expect.poll(notes).toEqual(['S', 'L']);
  });

  test('so is what a password manager fills in', async () => {
    const { succeeded, note, is, place, notes } = await shown();
    await succeeded();
    const field = note.element() as HTMLInputElement;
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(field, 'coffee');
    field.dispatchEvent(new Event('input', { bubbles: true }));
    await is('idle');
    await place();
    await expect.poll(notes).toEqual(['tea', 'coffee']);
  });

  test('B2 unchanged values are sent once more only at a person’s word, once', async () => {
    const { orders, succeeded, place, says, sendAgain, notes, initialKey, is, startOver } = await shown();
    await succeeded();
    await place();
    await says(QUESTION);
    await is('hasSucceeded');
    await expect.element(startOver).not.toBeInTheDocument();
    expect(keysOf(orders)).toEqual([initialKey]);
    await userEvent.click(sendAgain);
    await expect.poll(notes).toEqual(['tea', 'tea']);
    await says('It went through.');
    await expect.element(sendAgain).not.toBeInTheDocument();
    expect(new Set(keysOf(orders)).size).toBe(2);
  });

  test('B2 so are values that were changed and changed back', async () => {
    const { succeeded, edit, place, says, is, sendAgain, notes } = await shown();
    await succeeded();
    await edit('coffee');
    await is('idle');
    await edit('tea');
    await place();
    await says(QUESTION);
    expect(notes()).toEqual(['tea']);
    await edit('milk');
    await place();
    await expect.poll(notes).toEqual(['tea', 'milk']);
    await expect.element(sendAgain).not.toBeInTheDocument();
  });

  test('B2 an event without a change changes nothing', async () => {
    const { succeeded, note, place, says, is, notes } = await shown();
    await succeeded();
    note.element().dispatchEvent(new Event('input', { bubbles: true }));
    await says('It went through.');
    await is('hasSucceeded');
    await place();
    await says(QUESTION);
    expect(notes()).toEqual(['tea']);
  });

  test('B2 what a reset leaves is no edit', async () => {
    const { succeeded, edit, note, place, says, notes } = await shown();
    await edit('coffee');
    await succeeded();
    await expect.element(note).toHaveValue('tea');
    await place();
    await says(QUESTION);
    (note.element() as HTMLInputElement).form?.reset();
    await place();
    await says(QUESTION);
    expect(notes()).toEqual(['coffee']);
  });

  test('B2 nor is what the page resets later, where other values were entered meanwhile', async () => {
    const { orders, edit, note, place, says, is, notes } = await shown();
    const held = orders.hold();
    await edit('coffee');
    await place();
    await held.reached;
    await edit('milk');
    held.release();
    await is('hasSucceeded');
    await expect.element(note).toHaveValue('milk');
    (note.element() as HTMLInputElement).form?.reset();
    await place();
    await says(QUESTION);
    expect(notes()).toEqual(['coffee']);
  });

  test.each(['stamp', 'cf-turnstile-response'])(
    'B2 a hidden field that has changed by itself is no edit: %s',
    async (name) => {
      const { succeeded, tick, place, says, notes } = await shown(<Ticking name={name} />);
      await succeeded();
      tick(name, '1');
      await place();
      await says(QUESTION);
      expect(notes()).toEqual(['tea']);
    },
  );

  test('B2 a choice that only a hidden field has is asked about, and not lost', async () => {
    const { succeeded, choose, place, says, sendAgain, notes } = await shown(<Choice hidden />);
    await succeeded();
    await choose('L');
    await place();
    await says(QUESTION);
    await userEvent.click(sendAgain);
    await expect.poll(notes).toEqual(['S', 'L']);
  });

  test('B2 so is a field that the page has changed', async () => {
    const { succeeded, tick, place, says, notes } = await shown();
    await succeeded();
    tick('note', 'coffee');
    await place();
    await says(QUESTION);
    expect(notes()).toEqual(['tea']);
  });

  test('another button is another intent, and one that is disabled meanwhile is not', async () => {
    const { succeeded, place, says, screen, notes } = await shown(
      <>
        <button type="submit" name="size" value="draft">
          Save as draft
        </button>
        <button type="submit" name="note" value="coffee">
          Coffee
        </button>
      </>,
    );
    const draft = screen.getByRole('button', { name: 'Save as draft' });
    await succeeded();
    await userEvent.click(draft);
    await expect.poll(notes).toEqual(['tea', 'draft']);
    await says('It went through.');
    (draft.element() as HTMLButtonElement).disabled = true;
    (draft.element() as HTMLButtonElement).disabled = false;
    await userEvent.click(draft);
    await says(QUESTION);
    await place();
    await expect.poll(notes).toEqual(['tea', 'draft', 'tea']);
  });

  test('a file is the same by name, size and time, and another one by any of them', async () => {
    const { succeeded, screen, place, says, orders } = await shown(
      <input type="file" aria-label="Picture" name="file" />,
    );
    const picture = screen.getByLabelText('Picture').element() as HTMLInputElement;
    const pick = async (text: string) => {
      const files = new DataTransfer();
      files.items.add(new File([text], 'a.txt', { lastModified: 1 }));
      await userEvent.click(screen.getByRole('status'));
      picture.files = files.files;
    };
    await succeeded();
    await place();
    await says(QUESTION);
    await pick('one');
    await place();
    await expect.poll(() => orders.effects.length).toBe(2);
    await says('It went through.');
    await pick('two');
    await place();
    await expect.poll(() => orders.effects.length).toBe(3);
  });
});

describe('B5 while nobody knows', () => {
  async function inDoubt(what: 'request' | 'answer', children: ReactNode, policy = ONCE) {
    const page = await shown(children, policy);
    if (what === 'request') page.orders.loseRequest();
    else page.orders.loseAnswer();
    await page.place();
    await page.is('unknown');
    await expect.element(page.checkAgain).toBeVisible();
    return page;
  }

  test('other values that never an event told of: it went through, so nothing else is sent', async () => {
    const { choose, place, says, orders, notes } = await inDoubt('answer', <Choice />);
    await choose('L');
    await place();
    await says('This was already sent, and it went through.');
    expect(notes()).toEqual(['S']);
    await place();
    await says(QUESTION);
    expectCounted(orders.attempts).toHaveLength(1);
  });

  test.each([[<Choice key="seen" />], [<Choice key="hidden" hidden />]])(
    'it never arrived: the one click gives it up, then sends',
    async (choice) => {
      const { orders, choose, place, is, notes, initialKey } = await inDoubt('request', choice);
      await choose('L');
      await place();
      await is('hasSucceeded');
      expect(notes()).toEqual(['L']);
      expect(orders.status(initialKey).state).toBe('abandoned');
      expect(keysOf(orders)).toHaveLength(2);
    },
  );

  test('what is changed behind the click does not go out by itself', async () => {
    const { orders, choose, place, edit, is, states } = await shown(<Choice />);
    const held = orders.hold('request');
    await place();
    await held.reached;
    await choose('L');
    await place();
    await is('checking');
    await edit('coffee');
    held.lose();
    await is('idle');
    await place();
    await is('hasSucceeded');
    expect(states().slice(-3)).toEqual(['idle', 'executing', 'hasSucceeded']);
    expectCounted(orders.effects).toHaveLength(1);
    expect(orders.attempts).toHaveLength(2);
  });

  test('other values that are pressed for before the first ones have gone through are asked about', async () => {
    const { orders, choose, place, is, says, sendAgain, notes } = await shown(<Choice />);
    const held = orders.hold();
    await place();
    await held.reached;
    await choose('L');
    await place();
    await is('checking');
    held.release();
    await says(QUESTION);
    expect(notes()).toEqual(['S']);
    await userEvent.click(sendAgain);
    await expect.poll(notes).toEqual(['S', 'L']);
  });

  test('the same values, but for a captcha’s, go out under the same key', async () => {
    const name = 'g-recaptcha-response';
    const { orders, tick, place, is, initialKey } = await inDoubt('request', <Ticking name={name} />, IMPATIENT);
    tick(name, '1');
    await place();
    await is('hasSucceeded');
    expect(keysOf(orders)).toEqual([initialKey, initialKey]);
  });

  test('a refusal that leaves a doubt: other values wait until the first key is given up', async () => {
    const { orders, place, edit, is, notes, initialKey } = await shown(undefined, ONCE);
    orders.refuseNext('unavailable', { executed: false });
    await place();
    await is('hasErrored');
    await edit('coffee');
    await is('hasErrored');
    await place();
    await is('hasSucceeded');
    expect(notes()).toEqual(['coffee']);
    expect(orders.status(initialKey).state).toBe('abandoned');
  });

  test('a choice while it tries again ends that, though no event tells of it', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.9); // a wait of that part of its time
    onTestFinished(() => void vi.restoreAllMocks());
    const { orders, choose, place, is, notes } = await shown(<Choice />, { ...QUICK, baseMs: 3000, capMs: 3000 });
    orders.loseRequest();
    await place();
    await is('unknown');
    await choose('L');
    await is('idle');
    expect(notes()).toEqual([]);
    expect(orders.questions.map(({ method }) => method)).toContain('DELETE');
    await place();
    await expect.poll(notes).toEqual(['L']);
  });
});

test('what is left is another form’s, when the intent has changed', async () => {
  const { succeeded, rerender, place, notes, is, orders } = await shown();
  await succeeded();
  await rerender({ intent: newIntent(), initialKey: orders.issueKey() });
  await is('idle');
  await place();
  await expect.poll(notes).toEqual(['tea', 'tea']);
});
