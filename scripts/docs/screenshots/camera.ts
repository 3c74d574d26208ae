import { writeFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright';
import sharp from 'sharp';
import { steady } from './steady.ts';

const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };

/** How a page is looked at. The links of docs/admin-pages.md are to these names. */
export const LOOKS = {
  'desktop-light': { viewport: DESKTOP, colorScheme: 'light', forcedColors: 'none' },
  'desktop-dark': { viewport: DESKTOP, colorScheme: 'dark', forcedColors: 'none' },
  'phone-light': { viewport: PHONE, colorScheme: 'light', forcedColors: 'none' },
  'phone-dark': { viewport: PHONE, colorScheme: 'dark', forcedColors: 'none' },
  forced: { viewport: DESKTOP, colorScheme: 'light', forcedColors: 'active' },
} as const;

/** The most that a picture may weigh: they all lie in the repository. */
const LIMIT = 50_000;

/**
 * Takes the pictures of the page as it stands there, without loading it again, one in each look. `from`: what they begin
 * with at the top. Says what it made; throws when a picture is too heavy.
 */
export async function photograph(page: Page, folder: string, name: string, from?: Locator): Promise<void> {
  for (const [look, { viewport, ...media }] of Object.entries(LOOKS)) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ ...media, reducedMotion: 'reduce' });
    if (from) await from.evaluate((element) => element.scrollIntoView({ block: 'start' }));
    else await page.evaluate(() => scrollTo(0, 0));
    await calm(page);
    const taken = await page.screenshot({ animations: 'disabled' });
    const picture = await sharp(taken).webp({ nearLossless: true, quality: 60, effort: 6 }).toBuffer();
    const file = `${name}-${look}.webp`;
    if (picture.length > LIMIT) throw new Error(`${file} is ${picture.length} bytes, more than ${LIMIT}.`);
    await writeFile(`${folder}/${file}`, picture);
    console.log(`${String(picture.length).padStart(8)}  ${file}`);
  }
  await page.emulateMedia({ forcedColors: 'none' });
  await restoreTexts(page);
}

/** What a page said before it was calmed: each text node with its own text, and the one that it was given. */
interface Calmed {
  calmed?: Map<Node, { was: string; is: string }>;
}

/** Replaces in the page what differs from run to run. The page does not know, and may write over it: just before. */
export async function calm(page: Page): Promise<void> {
  const texts = await textsOf(page);
  await page.evaluate(
    (said) => {
      const all = globalThis as Calmed;
      all.calmed ??= new Map();
      const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let n = 0; nodes.nextNode(); n++) {
        const [was, is] = said[n] ?? [];
        const { currentNode: node } = nodes;
        if (was === undefined || is === undefined || was === is || node.nodeValue !== was) continue;
        all.calmed.set(node, { was, is });
        node.nodeValue = is;
      }
    },
    texts.map((text) => [text, steady(text)] as const),
  );
}

/** Gives the page its own texts back: whoever goes on with it looks for them. */
async function restoreTexts(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const [node, { was, is }] of (globalThis as Calmed).calmed ?? [])
      if (node.nodeValue === is) node.nodeValue = was;
  });
}

/** True where the page has written nothing over it since. */
export async function isCalm(page: Page): Promise<boolean> {
  return (await textsOf(page)).every((text) => steady(text) === text);
}

function textsOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) found.push(nodes.currentNode.nodeValue ?? '');
    return found;
  });
}
