import { expect } from '@playwright/test';
import { ADA } from '../fixtures/shop.ts';
import type { Point, Tab } from './engine.ts';

/** The form's words, with its state. */
export interface Said {
  state: string;
  words: string;
}

/** Somebody at the shop, in a tab of whichever engine. Finds things as people do, by what is written on them. */
export class Person {
  readonly tab: Tab;
  readonly #home: string;
  readonly #region: string;

  constructor(tab: Tab, home: string, region = 'main') {
    this.tab = tab;
    this.#home = home;
    this.#region = region;
  }

  /** The same person, who looks for things in that region of the page alone: a selector of CSS. */
  within(region: string): Person {
    return new Person(this.tab, this.#home, region);
  }

  async go(path: string): Promise<void> {
    await this.tab.open(this.#home + path);
  }

  /** Puts a mug into the cart and goes to the checkout. Whether the page there runs is another matter. */
  async buy(): Promise<void> {
    await this.go('/');
    await this.press('Buy Enamel mug');
    await this.until(async () => expect(await this.path()).toBe('/checkout'));
    await this.until(async () => expect(await this.tab.evaluate(isLoaded, 'Place order')).toBe(true));
  }

  /** Until React has taken over the forms, or the links where there is none. It marks its elements; effects run right behind. */
  async untilHydrated(): Promise<void> {
    await this.until(async () => expect(await this.tab.evaluate(isHydrated, null)).toBe(true));
  }

  async fill(fields: Partial<typeof ADA> = ADA): Promise<void> {
    for (const [label, value] of Object.entries(fields)) await this.type(label, value);
    const entered = await this.entered();
    for (const [label, value] of Object.entries(fields)) expect(entered[label], label).toBe(value);
  }

  /** Types into a field, which may give way to an answer right behind it. A choice takes what begins with that. */
  async type(label: string, value: string): Promise<void> {
    await this.tab.evaluate(select, { region: this.#region, label });
    await this.tab.type(value);
  }

  /** Clicks a button or a link. */
  async press(name: string, times = 1): Promise<void> {
    await this.tab.click(await this.find(name), times);
  }

  /** Clicks one that may be there, on a page that may give way to another one. */
  async pressIfThere(name: string): Promise<void> {
    const at = await this.tab.evaluate(middleOf, { region: this.#region, name });
    if (at) await this.tab.click(at, 1);
  }

  /** Keeps Enter down until then, and for a while longer: a keyboard repeats a key that is held. */
  async holdEnter(until: () => Promise<boolean>): Promise<void> {
    await this.until(async () => {
      await this.tab.enterDown();
      expect(await until()).toBe(true);
    });
    for (let more = 0; more < 20; more++) await this.tab.enterDown();
    await this.tab.enterUp();
  }

  /** Where a button or link is, once it stands still and nothing lies over it. */
  async find(name: string): Promise<Point> {
    const found: Point[] = [];
    await this.until(async () => {
      const at = await this.tab.evaluate(middleOf, { region: this.#region, name });
      expect(at, `"${name}" can be pressed`).not.toBeNull();
      if (at) found.push(at);
    });
    return found[0] as Point;
  }

  /** The words of the form; null where there is none. */
  async hears(): Promise<Said | null> {
    return await this.tab.evaluate(status, this.#region);
  }

  async untilHears(what: Partial<{ state: RegExp; words: RegExp }>): Promise<void> {
    await this.until(async () => {
      const said = await this.hears();
      expect(said).not.toBeNull();
      if (what.state) expect(said?.state).toMatch(what.state);
      if (what.words) expect(said?.words).toMatch(what.words);
    });
  }

  async untilReads(words: string): Promise<void> {
    await this.until(async () => expect(await this.tab.evaluate(text, null)).toContain(words));
  }

  /** True if there is such a button or link to press. */
  async sees(name: string): Promise<boolean> {
    return await this.tab.evaluate(isShown, { region: this.#region, name });
  }

  async path(): Promise<string> {
    return await this.tab.evaluate(() => location.pathname, null);
  }

  /** The key that the form would send. */
  async key(): Promise<string> {
    return await this.tab.evaluate(keyField, this.#region);
  }

  /** The content of the labelled fields. */
  async entered(): Promise<Record<string, string>> {
    return await this.tab.evaluate(values, null);
  }

  /** On the page of the order, which shows what was entered. */
  async untilOrdered(): Promise<void> {
    await this.until(async () => {
      expect(await this.path()).toMatch(/^\/orders\//);
      expect(await this.tab.evaluate(text, null)).toContain(ADA.Name);
    }, 40_000);
  }

  /** The page may give way to another one at any moment, and is then asked again. */
  async until(holds: () => Promise<void>, timeout = 20_000): Promise<void> {
    await expect(holds).toPass({ timeout, intervals: [50, 100, 250] });
  }
}

interface Named {
  region: string;
  name: string;
}

// These run in the page. Each stands by itself: nothing of this file is there.

const text = () => document.body.innerText;

const isLoaded = (button: string) =>
  document.readyState === 'complete' &&
  [...document.querySelectorAll('button')].some((one) => one.textContent?.trim() === button);

const isHydrated = () => {
  const [forms, links] = [document.querySelectorAll('main form'), document.querySelectorAll('main a')];
  const parts = [...(forms.length > 0 ? forms : links)];
  const isReacts = (part: Element) => Object.keys(part).some((key) => key.startsWith('__reactProps$'));
  return parts.length > 0 && parts.every(isReacts);
};

const select = ({ region, label }: { region: string; label: string }) => {
  const labels = [...document.querySelectorAll<HTMLLabelElement>(`${region} label`)];
  const field = labels.find((one) => one.textContent?.trim() === label && one.checkVisibility())?.control;
  if (!field) throw new Error(`There is no field ${label}.`);
  field.focus();
  if (field instanceof HTMLInputElement) field.select();
};

const keyField = (region: string) =>
  (document.querySelector(`${region} input[name=idempotency_key]`) as HTMLInputElement).value;

const values = () =>
  Object.fromEntries(
    [...document.querySelectorAll('label')].map((label) => [
      label.textContent?.trim() ?? '',
      (label.control as HTMLInputElement | null)?.value ?? '',
    ]),
  );

const isShown = ({ region, name }: Named) =>
  [...document.querySelectorAll<HTMLButtonElement>(`${region} :is(button, a)`)].some(
    (one) => (one.getAttribute('aria-label') ?? one.textContent)?.trim() === name && one.checkVisibility(),
  );

/** Null while it is not there, still moves, or lies under something else. */
const middleOf = async ({ region, name }: Named) => {
  const nameOf = (one: HTMLButtonElement) =>
    (one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent)?.trim();
  const look = () => {
    const all = [...document.querySelectorAll<HTMLButtonElement>(`${region} :is(button, a, [role=option])`)];
    const found = all.find((one) => nameOf(one) === name && one.checkVisibility());
    if (!found) return null;
    found.scrollIntoView({ block: 'center', behavior: 'instant' });
    // Its first line: between two there may be nothing to click.
    const line = found.getClientRects()[0];
    if (!line) return null;
    const { left, top, width, height } = line;
    const [x, y] = [Math.round(left + width / 2), Math.round(top + height / 2)];
    return found.contains(document.elementFromPoint(x, y)) ? { x, y } : null;
  };
  const before = look();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const after = look();
  return before && after && before.x === after.x && before.y === after.y ? after : null;
};

const status = (region: string) => {
  const found = [...document.querySelectorAll<HTMLElement>(`${region} [role=status][data-state]`)].find((one) =>
    one.checkVisibility(),
  );
  return found ? { state: found.dataset.state ?? '', words: found.textContent ?? '' } : null;
};
