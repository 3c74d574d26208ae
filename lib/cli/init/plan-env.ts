import type { FileTree } from '../app/file-tree.ts';
import type { Plan } from './plan.ts';

const SECRETS = {
  IDEMPOTENCY_SECRET: 'Signs idempotency keys. The same on every instance; a new one goes behind it, after a comma.',
  CRON_SECRET: 'Opens app/api/cron: Authorization: Bearer …',
} as const;

const FILES = ['.env', '.env.local', '.env.development', '.env.development.local', '.env.production'];

/** The secrets that no .env file sets yet, appended to `.env`. What stands there is neither changed nor shown. */
export function planEnv(tree: FileTree, secret: () => string): Plan {
  const texts = FILES.map((file) => tree.read(file) ?? '');
  const isSet = (name: string) =>
    texts.some((text) => new RegExp(`^\\s*(export\\s+)?${name}\\s*=\\s*\\S`, 'm').test(text));
  const missing = Object.entries(SECRETS).filter(([name]) => !isSet(name));
  if (missing.length === 0) return { writes: [], kept: [], notes: [] };
  const before = tree.read('.env');
  const lines = missing.map(([name, why]) => `# ${why}\n${name}="${secret()}"\n`);
  const content = `${before ? `${before.trimEnd()}\n\n` : ''}${lines.join('\n')}`;
  const shown = missing.map(([name]) => `${name}="…"`);
  return {
    writes: [{ file: '.env', content, before, shown }],
    kept: [],
    notes: isIgnored(tree.read('.gitignore'))
      ? []
      : ['.env holds secrets, and .gitignore does not list it. Add a line: .env*'],
  };
}

function isIgnored(text = ''): boolean {
  return text.split(/\r?\n/).some((line) => /^\/?\.env(\*|\.\*)?$/.test(line.trim()) || line.trim() === '*.env');
}
