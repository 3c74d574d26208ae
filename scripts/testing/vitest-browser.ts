import { playwright } from '@vitest/browser-playwright';
import { launchOptions } from '../services/chromium.ts';

/**
 * Vitest's browser is the one that all other tests use. It is looked for, and installed where there is none, when the
 * first page opens: runs without component tests need no browser.
 */
export function chromium(): ReturnType<typeof playwright> {
  const options: Parameters<typeof playwright>[0] = {};
  const provider = playwright(options);
  return {
    ...provider,
    providerFactory(project) {
      const made = provider.providerFactory(project);
      const openPage = made.openPage.bind(made);
      made.openPage = async (...page) => {
        options.launchOptions = await launchOptions();
        return await openPage(...page);
      };
      return made;
    },
  };
}
