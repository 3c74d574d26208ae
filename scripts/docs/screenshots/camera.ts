import { writeFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright';
import { repack } from './repack.ts';
import { steady } from './steady.ts';

const LOOKS = [
  { name: 'desktop-light', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { name: 'desktop-dark', viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  { name: 'phone-light', viewport: { width: 375, height: 812 }, colorScheme: 'light' },
  { name: 'phone-dark', viewport: { width: 375, height: 812 }, colorScheme: 'dark' },
] as const;

/** The most that a picture may weigh: they all lie in the repository. */
const LIMIT = 120_000;

/**
 * Takes four pictures of the page as it stands there, without loading it again: desktop and phone, light and dark.
 * `from`: what the picture begins with at the top. Says what it made; throws when a picture is too heavy.
 */
export async function photograph(page: Page, folder: string, name: string, from?: Locator): Promise<void> {
  for (const { name: look, viewport, colorScheme } of LOOKS) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    if (from) await from.evaluate((element) => element.scrollIntoView({ block: 'start' }));
    else await page.evaluate(() => scrollTo(0, 0));
    await calm(page);
    const picture = repack(await page.screenshot({ animations: 'disabled' }));
    const file = `${name}-${look}.png`;
    if (picture.length > LIMIT) throw new Error(`${file} is ${picture.length} bytes, more than ${LIMIT}.`);
    await writeFile(`${folder}/${file}`, picture);
    console.log(`${String(picture.length).padStart(8)}  ${file}`);
  }
}

/** Replaces in the page what differs from run to run. The page does not know, and may write over it: just before. */
export async function calm(page: Page): Promise<void> {
  const texts = await textsOf(page);
  await page.evaluate(
    (said) => {
      const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let n = 0; nodes.nextNode(); n++) {
        const [was, is] = said[n] ?? [];
        if (was !== is && nodes.currentNode.nodeValue === was) nodes.currentNode.nodeValue = is ?? null;
      }
    },
    texts.map((text) => [text, steady(text)] as const),
  );
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
