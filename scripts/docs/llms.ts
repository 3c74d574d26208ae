/**
 * llms.txt (https://llmstxt.org): the guides, each with its subject, for those who have a tool write their code. The package has
 * it beside its docs, the demo at /llms.txt.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readGroups } from '../../shop/docs/groups.ts';
import { root } from './pages.ts';

/** The sentences that code goes wrong without, whoever writes it. */
const RULES = `- An operation is what happens once: \`idempotency.operation({ name, schema }).handler(async ({ input, tx, fail }) => …)\`. Write
  through \`tx\`, and await each query. On the kit's pool (\`oncekit/adapter-pg\`) the client by its global name is in the same transaction;
  elsewhere, and of another client, a write past \`tx\` is refused. What must survive a rollback goes into \`outside(() => …)\`.
- Never change another system (charge, mail, publish) in \`.handler\`. Use \`.phases\` with \`foreign\`, \`outbox.enqueue(tx, …)\`, or
  \`enqueueJob(tx, …)\`.
- Return plain data, of at most 256 KiB: it is stored, and given again to every retry. \`return fail('reason')\` is a stored refusal; an
  error that is thrown rolls all of it back, and the key may be used again.
- A form carries its key: \`issueKey(operation)\` on the server, in a page that is rendered for each request; \`IdempotentForm\` or
  \`useIdempotentSubmit\` in the browser. \`intent\` is \`<operation>:<what>\`.
- List every operation in \`lib/operations.ts\`. \`scope\` in \`lib/idempotency.ts\` returns who acts, from the session, never from the
  request's body.
- \`npx oncekit init\` sets an app up, and \`npx oncekit doctor\` says what is wrong with it. Run it after each change of the set-up.`;

/** The text, with the guides where `addressOf` says that they are; it leaves out those that are nowhere. */
export function llmsText(addressOf: (file: string) => string | undefined): string {
  const index = readFileSync(path.join(root, 'docs/README.md'), 'utf8');
  const files = [...index.matchAll(/\]\(([^)#]+\.md)\)/g)].map(([, file = '']) => file);
  const missing = files.filter((file) => !existsSync(path.join(root, 'docs', file)));
  if (missing.length > 0) throw new Error(`docs/README.md lists pages that are not there: ${missing.join(', ')}`);
  const addresses = files.flatMap((file): [string, string][] => {
    const address = addressOf(file);
    return address ? [[file, address]] : [];
  });
  const { groups } = readGroups(index, new Map(addresses));
  const { description } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const sections = groups
    .filter(({ guides }) => guides.length > 0)
    .map(({ name, guides }) => {
      const lines = guides.map((guide) => `- [${guide.name}](${guide.href})${guide.text ? `: ${guide.text}` : ''}`);
      return `## ${name}\n\n${lines.join('\n')}\n`;
    });
  return `# oncekit\n\n> ${description}\n\n${RULES}\n\n${sections.join('\n')}`;
}

/** The texts by the file that each is kept in. */
export function llmsFiles(): Record<string, string> {
  return {
    'llms.txt': llmsText((file) => `docs/${file}`),
    'public/llms.txt': llmsText(demoAddress),
  };
}

/** As the demo has its pages. It does not show what is for those who read the repository. */
function demoAddress(file: string): string | undefined {
  if (/^(adr|internals)\//.test(file)) return undefined;
  return `/docs/${file.replace(/(^|\/)README\.md$|\.md$/, '')}`;
}
