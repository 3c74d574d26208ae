import { writeFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright';
import sharp from 'sharp';
import { hydrated } from '../../../e2e/fixtures/test.ts';
import { calm, isCalm } from './camera.ts';

/** The most that a loop may weigh: a README is read on phones, too. */
const LIMIT = 1_000_000;
/** Both columns side by side, and no wider than GitHub shows a README. */
const VIEWPORT = { width: 880, height: 690 };
/** The first and the last picture of each page stand long enough to be read. */
const FIRST_MS = 1200;
const LAST_MS = 4000;
/** The lab plays it in a second, in which nobody could follow two columns. */
const SLOWER = 3;
const SHORTEST_MS = 300;
/** Until the lab has counted; a loaded machine takes its time. */
const LONGEST_MS = 60_000;

interface Frame {
  picture: Buffer;
  at: number;
}

/**
 * Films the lab while it plays a lost answer, without the kit and with it, in both colours: `loop-light.webp` and
 * `loop-dark.webp`. Says what it made; throws when a loop is too heavy.
 */
export async function film(browser: Browser, url: string, folder: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({
      ...{ baseURL: url, viewport: VIEWPORT, colorScheme, locale: 'en-US', timezoneId: 'UTC' },
      reducedMotion: 'reduce',
    });
    const loop = await encode(await framesOf(await context.newPage()));
    await context.close();
    const file = `loop-${colorScheme}.webp`;
    if (loop.length > LIMIT) throw new Error(`${file} is ${loop.length} bytes, more than ${LIMIT}.`);
    await writeFile(`${folder}/${file}`, loop);
    console.log(`${String(loop.length).padStart(8)}  ${file}`);
  }
}

/** One for each change of the page, from before Start until what has come of it has been counted. */
async function framesOf(page: Page): Promise<Frame[]> {
  await page.goto('/lab/lost-answer');
  await hydrated(page);
  const start = page.getByRole('button', { name: 'Start', exact: true });
  await page.locator('#preset-title').evaluate((title) => {
    title.closest('section')?.scrollIntoView({ block: 'start' });
    scrollBy(0, -16);
  });
  const frames: Frame[] = [];
  /** Says whether the picture could be kept. Where the page has written meanwhile, the next one shows the same. */
  const shoot = async (): Promise<boolean> => {
    await calm(page);
    const picture = await page.screenshot({ animations: 'disabled', caret: 'hide' });
    const isWhole = await isCalm(page);
    if (isWhole && !frames.at(-1)?.picture.equals(picture)) frames.push({ picture, at: performance.now() });
    return isWhole;
  };
  await shoot();
  await start.click();
  const verdict = page.locator('[data-verdict]', { hasText: 'With oncekit: 1 order, 1 charge' });
  const deadline = performance.now() + LONGEST_MS;
  for (let isOver = false; !isOver; ) {
    if (performance.now() > deadline) throw new Error('The lab has not come to its end.');
    const hasCounted = await verdict.isVisible();
    isOver = (await shoot()) && hasCounted;
  }
  return frames;
}

async function encode(frames: Frame[]): Promise<Buffer> {
  const delay = frames.map(({ at }, index) => {
    const next = frames[index + 1];
    if (!next) return LAST_MS;
    return index === 0 ? FIRST_MS : Math.max(SHORTEST_MS, Math.round(SLOWER * (next.at - at)));
  });
  const pictures = frames.map(({ picture }) => picture);
  return await sharp(pictures, { join: { animated: true } })
    .webp({ quality: 75, effort: 6, loop: 0, delay })
    .toBuffer();
}
