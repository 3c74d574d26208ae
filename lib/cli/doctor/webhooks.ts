import { type FileTree, sourceFiles } from '../app/file-tree.ts';
import { blanked, endOf, lineAt } from '../app/source-text.ts';
import { checkNamed, type Finding } from './finding.ts';

const CALLS = /\bwebhook\s*\(/g;
/** A URL that comes with a row: `url: customer.url`. What the environment or a setting says is the developer's own. */
const OF_A_ROW = /\burl\s*:\s*(?!process\.|env\b|config\b|settings\b)(?:await\s+)?[A-Za-z_$][\w$]*\s*(?:\?\.|\.|\[)/;

/** Webhooks whose URL a customer may have chosen, and that may go anywhere, as far as their text tells. */
export function checkWebhooks(tree: FileTree): Finding[] {
  const check = checkNamed('Webhooks');
  const using = sourceFiles(tree).filter(({ text }) => /oncekit\/messaging/.test(text));
  const found = using.flatMap(({ file, text }) => anywhere(text).map((at) => `${file}:${lineAt(text, at)}`));
  return found.map((place) =>
    check.warning(
      `${place} sends to a URL that is not fixed. Whoever chooses it could have your server speak to your own network.`,
      'Give webhook() an allowAddress: isPublicAddress, or () => true where the URL is your own: docs/webhook-destinations.md.',
    ),
  );
}

function anywhere(source: string): number[] {
  const code = blanked(source);
  return [...code.matchAll(CALLS)].flatMap(({ index, 0: { length } }) => {
    const given = code.slice(index, endOf(code, index + length - 1));
    return OF_A_ROW.test(given) && !/\ballowAddress\b/.test(given) ? index : [];
  });
}
