import { execFileSync } from 'node:child_process';

/** The files that Next.js reads variables from, and that hold secrets. */
const ENV_FILES = ['.env', '.env.local', '.env.development', '.env.production'];

/**
 * The variables of `.env` files that the folder's repository has, or had in its last 50 changes of such files. None where the
 * folder is in no repository, or there is no git here.
 */
export function committedVariables(root: string): { file: string; name: string; value: string }[] {
  const git = (...args: string[]) => {
    try {
      return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    } catch {
      return '';
    }
  };
  return ENV_FILES.flatMap((file) => {
    const added = git('log', '-50', '-p', '--format=', '--', file)
      .split('\n')
      .filter((line) => line.startsWith('+') && !line.startsWith('+++'))
      .map((line) => line.slice(1));
    const staged = git('show', `:./${file}`).split('\n');
    return [...added, ...staged].flatMap((line) => variableIn(line).map((variable) => ({ file, ...variable })));
  });
}

/** `NAME=value`, with or without quotes. */
export function variableIn(line: string): { name: string; value: string }[] {
  const [, name, quoted, , bare] =
    /^\s*(?:export\s+)?(\w+)\s*=\s*(?:((["'`])(?:(?!\3).)*\3)|([^#\n]*))/.exec(line) ?? [];
  const value = quoted ? quoted.slice(1, -1) : (bare ?? '').trim();
  return name && value ? [{ name, value }] : [];
}
