import type { PlaywrightLocator, PlaywrightPage, PlaywrightRoute, UrlMatch } from './network.ts';
import { cut, finishRequest } from './network.ts';

/**
 * Clicks twice in one tick, which is faster than any render: only a lock that holds at once stops the second click.
 * `dblclick()` is two tasks, and React may disable the button between them: it says nothing about a guard that a quick
 * hand on a busy page gets past.
 *
 * Before hydration and without JavaScript the browser itself drops the first of two submits in one tick: there, click
 * again once the first request is out.
 */
export async function doubleSubmit(button: PlaywrightLocator): Promise<void> {
  await button.click({ trial: true }); // waits until it is visible and enabled
  await button.evaluate((element) => {
    (element as HTMLElement).click();
    (element as HTMLElement).click();
  });
}

/**
 * Submits, and reloads the page while the POST is out. The server gets it whole and does its work; the page never hears
 * the answer. Resolves when the page is loaded again and the server has answered.
 *
 * @param submit makes the page send its POST: `() => button.click()`
 */
export async function reloadMidFlight(
  page: PlaywrightPage,
  submit: () => Promise<unknown>,
  { url = '**' }: { url?: UrlMatch } = {},
): Promise<void> {
  const [isOut, isLoaded, isServed] = [moment(), moment(), moment()];
  let isFirst = true;
  const hold = async (route: PlaywrightRoute) => {
    if (route.request().method() !== 'POST' || !isFirst) return route.fallback();
    isFirst = false;
    isOut.come();
    // By the test, and not by the page, which is about to go.
    await finishRequest(route);
    isServed.come();
    await isLoaded.reached;
    await cut(route);
  };
  await page.route(url, hold);
  // Not awaited, for a click may wait for the navigation that it begins. Where it cannot submit, it says so.
  const submitted = submit();
  await Promise.race([isOut.reached, submitted.then(() => isOut.reached)]);
  await page.reload();
  isLoaded.come();
  await isServed.reached;
  await submitted.catch(() => {}); // the reload has taken the button away
  await page.unroute(url, hold);
}

function moment() {
  let come = () => {};
  const reached = new Promise<void>((resolve) => {
    come = resolve;
  });
  return { reached, come };
}
