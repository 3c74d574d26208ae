import type { FileTree } from '../app/file-tree.ts';
import type { Plan } from './plan.ts';

const SECRETS = {
  IDEMPOTENCY_SECRET: 'Signs idempotency keys. The same on every instance; a new one goes behind it, after a comma.',
  CRON_SECRET: 'Opens app/api/cron: Authorization: Bearer …',
} as const;

const FILES = ['.env', '.env.local', '.env.development', '.env.development.local', '.env.production'];

/** The secrets that no .env file sets yet, appended to `.env`. What stands there is neither changed nor shown. */
export function planEnv(tree: FileTree, secret: () => string): Partial<Plan> {
  const texts = FILES.map((file) => tree.read(file) ?? '');
  const isSet = (name: string) =>
    texts.some((text) => new RegExp(`^\\s*(export\\s+)?${name}\\s*=\\s*\\S`, 'm').test(text));
  const missing = Object.entries(SECRETS).filter(([name]) => !isSet(name));
  if (missing.length === 0) return {};
  const before = tree.read('.env');
  const lines = missing.map(([name, why]) => `# ${why}\n${name}="${secret()}"\n`);
  const content = `${before ? `${before.trimEnd()}\n\n` : ''}${lines.join('\n')}`;
  const shown = missing.map(([name]) => `+${name}="…"`);
  const isIgnored = /^[^\S\n]*(\/?\.env(\*|\.\*)?|\*\.env)[^\S\n]*$/m.test(tree.read('.gitignore') ?? '');
  return {
    writes: [{ file: '.env', content, before, shown }],
    notes: isIgnored ? [] : ['.env holds secrets, and .gitignore does not list it. Add a line: .env*'],
  };
}

/** Takes the secrets out of `.env` again that `init` has put there: those that stand below its words about them. */
export function planEnvRemoval(tree: FileTree): Partial<Plan> {
  const before = tree.read('.env');
  if (before === undefined) return {};
  let content = before.replaceAll('\r\n', '\n');
  const shown: string[] = [];
  for (const [name, why] of Object.entries(SECRETS)) {
    const at = content.indexOf(`# ${why}\n${name}=`);
    if (at < 0) continue;
    const end = content.indexOf('\n', content.indexOf('\n', at) + 1);
    const [above, below] = [content.slice(0, at), end < 0 ? '' : content.slice(end + 1)];
    content = above + (above.endsWith('\n\n') || above === '' ? below.replace(/^\n/, '') : below);
    shown.push(`-${name}="…"`);
  }
  if (shown.length === 0) return {};
  content = content.trimEnd();
  if (content === '') return { removals: [{ file: '.env', before }] };
  return { writes: [{ file: '.env', content: `${content}\n`, before, shown }] };
}
