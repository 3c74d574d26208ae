import { afterEach, describe, expect, test, vi } from 'vitest';
import { commandsOf, type DocCommand, oncekitCall, whyNot } from './commands.ts';
import { markdownPages, readPage } from './pages.ts';

const pages = markdownPages();
const commands = pages.flatMap(commandsOf);
const said = ({ file, words }: DocCommand) => `${file}: ${words.join(' ')}`;

test('every command of every page exists: scripts, packages, programs, files, routes', () => {
  expect(commands.length).toBeGreaterThan(30);
  expect(commands.filter((one) => whyNot(one)).map((one) => `${said(one)}: ${whyNot(one)}`)).toEqual([]);
});

test('a command that does not work is found', () => {
  const lines = [
    'npm run not-there',
    'npm install not-a-package',
    'npx not-a-program',
    'npx prisma migrate deplyo',
    'node scripts/not-there.ts',
    'curl https://shop.example/api/not-there',
    'launch --all',
  ];
  const page = readPage(
    'x.md',
    `\`\`\`sh\n${lines.join('\n')}\ncd shop && npm test\n\`\`\`\n\nSee \`npm run also-not\`.\n`,
  );
  const found = commandsOf(page).filter((one) => whyNot(one));
  expect(found.map(({ words }) => words.join(' '))).toEqual([...lines, 'npm run also-not']);
});

test('every JSON block is JSON', () => {
  for (const { file, blocks } of pages) {
    for (const { text } of blocks.filter(({ lang }) => lang === 'json'))
      expect(() => JSON.parse(text), file).not.toThrow();
  }
});

const calls = commands.map(oncekitCall).filter((call) => call !== undefined);

describe('npx oncekit, run', () => {
  afterEach(() => vi.restoreAllMocks());

  test.each([...new Set(calls.map(({ name }) => name))])(
    '%s --help knows every option that the pages give it',
    async (name) => {
      const { code, output } = await oncekit(name, '--help');
      expect(code, output).toBe(0);
      const options = calls.filter((call) => call.name === name).flatMap((call) => call.options);
      for (const option of options.filter((one) => one !== '--help')) expect(output).toContain(option);
    },
    60_000,
  );

  test('and says no to what it does not know', async () => {
    const { code, output } = await oncekit('inti');
    expect(code).not.toBe(0);
    expect(output).toContain('inti');
  });
});

/** The command line, in this process: what it prints, and with what it would end. */
async function oncekit(...args: string[]): Promise<{ code: unknown; output: string }> {
  const lines: unknown[] = [];
  for (const kind of ['log', 'error'] as const)
    vi.spyOn(console, kind).mockImplementation((line) => void lines.push(line));
  let code: unknown;
  vi.spyOn(process, 'exit').mockImplementation((given) => {
    code ??= given;
    throw new Error('ended');
  });
  // The program listens until its process ends. This process goes on, and would keep a listener of each command.
  vi.spyOn(process.stdout, 'on').mockReturnThis();
  vi.spyOn(process, 'argv', 'get').mockReturnValue([process.execPath, 'oncekit', ...args]);
  vi.resetModules();
  await import('../../lib/cli/oncekit.ts').catch((error) => {
    if (error.message !== 'ended') throw error;
  });
  return { code, output: lines.join('\n') };
}
