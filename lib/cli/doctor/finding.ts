import { styleText } from 'node:util';
import { printable } from '../../core/printable.ts';
import { counted } from '../table.ts';

/** The result of one check of `doctor`, in one sentence. */
export interface Finding {
  /** The subject of the check: `Database`, `Migrations`. */
  check: string;
  level: 'ok' | 'warning' | 'problem';
  says: string;
  /** The remedy; every warning and problem has one. */
  fix?: string;
}

/** One line for each: the level, what was looked at, what was found, and the fix. */
export function report(findings: readonly Finding[]): string {
  const width = widthOf(findings);
  const lines = findings.map((each) => headOf(each, width) + each.says + (each.fix ? ` Fix: ${each.fix}` : ''));
  return [...lines, '', summaryOf(findings)].join('\n');
}

/** Writes the same for a terminal, in lines of its width. What is wrong stands last, where a person looks. */
export function reportForTerminal(findings: readonly Finding[], columns: number): string {
  const width = widthOf(findings);
  const indent = 'problem'.length + width + 4;
  const room = Math.max(30, columns - indent);
  const lines = LEVELS.flatMap((level) => findings.filter((each) => each.level === level)).map((each) => {
    const { level, says, fix } = each;
    const mend = fix === undefined ? [] : isCommand(fix) ? [`Fix: ${fix}`] : wrapped(`Fix: ${fix}`, room);
    const head = headOf(each, width).replace(level, (word) => styleText(COLOURS[level], word));
    return head + [...wrapped(says, room), ...mend].join(`\n${' '.repeat(indent)}`);
  });
  return [...lines, '', summaryOf(findings)].join('\n');
}

const LEVELS = ['ok', 'warning', 'problem'] as const;
const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

/** The shell takes it in one line. SQL may have several. */
const isCommand = (fix: string) => /^(npx|git) |: echo "/.test(fix);

const widthOf = (findings: readonly Finding[]) => Math.max(...findings.map(({ check }) => check.length));

const headOf = ({ level, check }: Finding, width: number) =>
  [level.padEnd('problem'.length), check.padEnd(width), ''].join('  ');

function summaryOf(findings: readonly Finding[]): string {
  const count = (level: Finding['level']) => findings.filter((each) => each.level === level).length;
  return [counted(count('problem'), 'problem'), counted(count('warning'), 'warning'), `${count('ok')} ok.`].join(', ');
}

/** Commands within a sentence, which are copied whole. */
const COMMANDS = /openssl rand -base64 32|npx oncekit [a-z]+|npx prisma [a-z]+ [a-z]+/g;
const JOIN = '\u00a0';

/** Broken at spaces alone: an address or a name stays whole, and can be copied. */
function wrapped(text: string, width: number): string[] {
  const words = text.replace(COMMANDS, (command) => command.replaceAll(' ', JOIN)).split(' ');
  const lines = [''];
  for (const word of words) {
    const last = lines.at(-1) as string;
    if (last !== '' && last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines.map((line) => line.replaceAll(JOIN, ' '));
}

/** Makes the findings of one check. */
export function checkNamed(check: string) {
  return {
    ok: (says: string): Finding => ({ check, level: 'ok', says: printable(says) }),
    warning: (says: string, fix: string): Finding => ({ check, level: 'warning', says: printable(says), fix }),
    problem: (says: string, fix: string): Finding => ({ check, level: 'problem', says: printable(says), fix }),
  };
}
