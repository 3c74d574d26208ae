import { expectGoodPage } from './fixtures/page-checks.ts';
import { expect, test } from './fixtures/test.ts';

test('from the list to a guide, to its parts, to the page of an error, and back', async ({ page }) => {
  await page.goto('/docs');
  await page.getByRole('link', { name: 'Payments with phases' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Payments with phases' })).toBeVisible();
  await page
    .getByRole('navigation', { name: 'On this page' })
    .getByRole('link', { name: 'Two intents, one thing' })
    .click();
  await expect(page).toHaveURL(/\/docs\/phases#two-intents-one-thing$/);
  await expect(page.getByRole('heading', { name: 'Two intents, one thing' })).toBeInViewport();
  await page.goto('/docs/failures');
  await page.getByRole('link', { name: 'payload_mismatch' }).first().click();
  await expect(page).toHaveURL('/docs/errors/payload_mismatch');
  await page.getByRole('navigation', { name: 'Where you are' }).getByRole('link', { name: 'Errors' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Errors' })).toBeVisible();
});

test('what is not there is not found, however its path is spelled', async ({ request }) => {
  const paths = [
    'nothing',
    'README',
    'phases.md',
    '..%2fREADME',
    '%2e%2e/package',
    'errors%2ffailed',
    'adr',
    'errors/x',
  ];
  for (const path of paths) expect((await request.get(`/docs/${path}`)).status(), path).toBe(404);
});

test('axe finds nothing in guides of each kind, and none is wider than a phone', { tag: '@all' }, async ({ page }) => {
  for (const path of ['/docs/failures', '/docs/reference/next']) {
    await page.goto(path);
    await expectGoodPage(page, path);
  }
});
