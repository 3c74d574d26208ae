import { execFileSync } from 'node:child_process';
import { parseEnv } from 'node:util';
import { tryOr } from '../../core/errors.ts';
import { weaknessOf } from '../../core/secret-strength.ts';
import { LEAST_TO_SIGN, secretId, secretsIn } from '../../core/secrets.ts';
import type { SetUp } from '../../engine/config.ts';
import type { FileTree } from '../app/file-tree.ts';
import { lineAt, withoutComments } from '../app/source-text.ts';
import type { AppFacts } from './app.ts';
import { checkNamed, type Finding } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface SecretsOptions extends Pick<AppFacts, 'setUpFile' | 'hasCronRoute'> {
  setUp: SetUp | undefined;
  env: Environment;
  root: string;
  tree: FileTree;
}

const NAME = 'IDEMPOTENCY_SECRET';
const OPENSSL = 'openssl rand -base64 32';
const MAKE = `Make one with: ${OPENSSL}`;
const NEW = `Write a new one in its place: ${OPENSSL}`;

/** Checks the secrets that sign keys, as the app has them, and the one of the cron route, as production does. */
export function checkSecrets(options: SecretsOptions): Finding[] {
  const signing = listOf(options.env[NAME]);
  return [checkSigning(options, signing), checkCron(options, signing), ...checkNodeEnv(options.tree)];
}

/** Next.js has set NODE_ENV before it reads these files. A worker and the command line have not. */
function checkNodeEnv(tree: FileTree): Finding[] {
  const said = ['.env.local', '.env'].flatMap((file) => variablesIn(file, tree.read(file)));
  const { file, value } = said.find(({ name }) => name === 'NODE_ENV') ?? {};
  if (value !== 'development' && value !== 'test') return [];
  return [
    checkNamed('NODE_ENV').warning(
      `${file} says NODE_ENV=${value}: a worker that reads it is not production. It takes any secret, and logs what errors hold.`,
      `Take it out of ${file}. On your own machine: NODE_ENV=${value} npx oncekit worker`,
    ),
  ];
}

/** The secrets of a variable, as the kit reads them. */
const listOf = (value: string | undefined) => secretsIn(value).filter((each): each is string => !!each);

function checkSigning(options: SecretsOptions, inVariable: readonly string[]): Finding {
  const check = checkNamed('Secret');
  const { setUp, setUpFile, env } = options;
  if (inVariable.length === 0 && (setUp?.secrets.length ?? 0) === 0) {
    return check.problem(
      `${NAME} is not set: production refuses to run.`,
      `Add one to .env: echo "${NAME}=$(${OPENSSL})" >> .env`,
    );
  }
  if (setUp?.secrets.length === 0) {
    return check.problem(
      `${setUpFile} gives createIdempotency no secret, though ${NAME} is set: production refuses to run.`,
      `Write there: secret: process.env.${NAME},`,
    );
  }
  const all = signingOf(options, inVariable);
  for (const one of all) {
    const found = weak(one) ?? inCode(one, options) ?? example(one, options) ?? shared(one, env);
    if (found) return check.problem(...found);
  }
  const committed = committedOne(all, options.root);
  if (committed) return check.problem(...committed);
  const [{ called } = { called: NAME }] = all;
  return check.ok(all.length === 1 ? `${called} is set.` : `There are ${all.length}: the first signs, all verify.`);
}

/** The secrets that sign, by their public ids. A value is known where a variable or the code of the set-up has it. */
function signingOf({ setUp, setUpFile, env }: SecretsOptions, inVariable: readonly string[]) {
  const numbered = (name: string, index: number, of: number) => (of === 1 ? name : `${name} number ${index + 1}`);
  if (!setUp) {
    return inVariable.map((value, index) => ({
      id: secretId(value),
      called: numbered(NAME, index, inVariable.length),
      value,
      weakness: weaknessOf(value, LEAST_TO_SIGN),
    }));
  }
  // The variable that is meant for it, before others that may hold the same.
  const variables = [[NAME, env[NAME]] as const, ...Object.entries(env)];
  return setUp.secrets.map(({ id, weakness }, index) => {
    const [name, held] = variables.find(([, each]) => holds(each, id)) ?? [];
    const called = name ? numbered(name, index, listOf(held).length) : `Secret number ${index + 1} of ${setUpFile}`;
    return { id, called, weakness, value: listOf(held).find((part) => secretId(part) === id) };
  });
}

type Signing = ReturnType<typeof signingOf>[number];

type Said = [says: string, fix: string] | undefined;

function weak({ called, weakness }: Signing): Said {
  return weakness ? [`${called} ${weakness}: production refuses to run.`, NEW] : undefined;
}

/** A text of the set-up's module: it is in the repository, and the same everywhere. */
function inCode({ id, value }: Signing, { tree, setUpFile = '' }: SecretsOptions): Said {
  if (value !== undefined) return undefined;
  const source = withoutComments(tree.read(setUpFile) ?? '');
  const literal = [...source.matchAll(/(['"`])([^'"`\n]+)\1/g)].find(([, , text = '']) => secretId(text) === id);
  if (!literal) return undefined;
  const says = `A secret stands in ${setUpFile}:${lineAt(source, literal.index)}: whoever has the code can sign keys.`;
  return [says, `Write there process.env.${NAME}, and make a new one for .env: ${OPENSSL}`];
}

/** Long enough that none of them comes about by chance. */
const EXAMPLE =
  /change.?(me|this)|replace.?(me|this|with)|your.{0,20}(secret|key)|example|placeholder|super.?secret|my.?secret|dummy|password|development|insecure|lorem|123456789|abcdefgh/i;
const EXAMPLES = ['.env.example', '.env.sample', '.env.template', '.env.dist', '.env.local.example'];

function example({ id, called, value = '' }: Signing, { tree }: SecretsOptions): Said {
  const file = EXAMPLES.find((name) => variablesIn(name, tree.read(name)).some((each) => holds(each.value, id)));
  if (file) return [`${called} is the one of ${file}: whoever has the repository can sign keys.`, NEW];
  return EXAMPLE.test(value) ? [`${called} reads like an example, which others have as well.`, NEW] : undefined;
}

const holds = (value: string | undefined, id: string) =>
  listOf(value).some((part) => secretId(part) === id || secretId(part.replace(/^whsec_/, '')) === id);

/** Variables that are for something else. CRON_SECRET has a check of its own. */
const OTHER_PURPOSE = /SESSION|AUTH|COOKIE|JWT|WEBHOOK|STRIPE|CSRF|ENCRYPT|ADMIN/i;

function shared({ id, called }: Signing, env: Environment): Said {
  const others = Object.entries(env).filter(
    ([name, value]) =>
      name !== NAME && name !== 'CRON_SECRET' && /SECRET|KEY|TOKEN|PASS/i.test(name) && value && holds(value, id),
  );
  const [other] = others.find(([name]) => OTHER_PURPOSE.test(name)) ?? others.find(([name]) => name !== called) ?? [];
  if (!other) return undefined;
  const risk = 'whoever learns it by one way gets in by the other.';
  return other === called
    ? [`${other} signs keys, and has another purpose: ${risk}`, `Give keys a secret of their own, ${NAME}: ${OPENSSL}`]
    : [`${called} and ${other} are one secret: ${risk}`, `Write a new one in place of ${called}: ${OPENSSL}`];
}

function committedOne(all: readonly Signing[], root: string): Said {
  for (const { file, value } of committedVariables(root)) {
    const one = all.find(({ id }) => holds(value, id));
    if (!one) continue;
    return [
      `${file} is in git with ${one.called}: whoever has the repository can sign keys.`,
      `git rm --cached ${file}; echo ${file} >> .gitignore; then write a new one in its place: ${OPENSSL}`,
    ];
  }
  return undefined;
}

function checkCron({ env, hasCronRoute }: SecretsOptions, signing: readonly string[]): Finding {
  const check = checkNamed('Cron secret');
  const { CRON_SECRET: secret } = env;
  if (!secret) {
    return hasCronRoute
      ? check.warning(
          'CRON_SECRET is not set: the cron route is closed.',
          `Where no worker runs: echo "CRON_SECRET=$(${OPENSSL})" >> .env`,
        )
      : check.ok('There is no cron route, so none is needed.');
  }
  const weakness = weaknessOf(secret);
  if (weakness) return check.problem(`CRON_SECRET ${weakness}: production refuses the cron route.`, NEW);
  if (signing.includes(secret)) {
    return check.problem(`CRON_SECRET is ${NAME} as well: production refuses the cron route.`, MAKE);
  }
  return check.ok('CRON_SECRET is set.');
}

/** The files that Next.js reads variables from, and that hold secrets. */
const ENV_FILES = ['.env', '.env.local', '.env.development', '.env.production'];

/**
 * The variables of `.env` files that the folder's repository has, or had in its last 50 changes of such files. None where the
 * folder is in no repository, or there is no git here.
 */
function committedVariables(root: string) {
  const git = (...args: string[]) =>
    tryOr(() => execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }), '');
  return ENV_FILES.flatMap((file) => {
    const added = git('log', '-50', '-p', '--format=', '--', file)
      .split('\n')
      .filter((line) => line.startsWith('+') && !line.startsWith('+++'))
      .map((line) => line.slice(1));
    return variablesIn(file, [...added, git('show', `:./${file}`)].join('\n'));
  });
}

/** The lines of a file that are `NAME=value`, each by itself: what a name had before counts as well. */
function variablesIn(file: string, text = '') {
  return text.split('\n').flatMap((line) => {
    const [[name, value] = []] = Object.entries(parseEnv(`${line}\n`)); // a comment without an end is a name to Node 20
    return name && value ? [{ file, name, value }] : [];
  });
}
