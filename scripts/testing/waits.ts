/** A way to write a test whose verdict is the machine's. `text`: a global pattern; `isFault`: of what it has found, if not all. */
interface Rule {
  text: RegExp;
  advice: string;
  isFault?: (found: RegExpExecArray) => boolean;
}

const SHORTEST_MS = 20_000;
/** A loop that looks again and again may pause for so long. */
const PAUSE_MS = 250;

const number = (digits = '') => Number(digits.replaceAll('_', ''));

const RULES: Rule[] = [
  {
    text: /\bexpect(?:\.soft)?\([^;]*?\b(?:performance|Date)\.now\(\)[^;]*?\)\s*\.toBeLess\w*\(([^;]*)\);/g,
    advice: 'a busy machine takes longer. Assert what came, or write the bound as `bound(ms)`',
    isFault: ([, most = '']) => !/\bbound\(|^deadline$/.test(most),
  },
  {
    // With the lines behind it, in which its end may stand.
    text: /(?:\bwhile \([!(]*await\b|\bwhile \([^\n]*\) await\b|\bfor \(;;\))(?=((?:[^\n]*\n){0,9}[^\n]*))/g,
    advice: 'a loop that may have no end. Use `until`, `expect.poll` or `vi.waitFor`',
    isFault: ([, body = '']) => !/\bdeadline\b|\bthrow/i.test(body),
  },
  {
    text: /\bawait (?:wait|sleep|delay)\(([\d_]+)\)/g,
    advice: 'too long for a fast machine, too short for a slow one. Wait for what is to happen',
    isFault: ([, ms]) => number(ms) > PAUSE_MS,
  },
  {
    text: /(?:\bwaitFor|\.poll|\.toPass)\([^;]*?\btimeout: ([\d_]+)\b/g,
    advice: `shorter than ${SHORTEST_MS} ms. Leave the timeout out`,
    isFault: ([, ms]) => number(ms) < SHORTEST_MS,
  },
];

/** A comment on the line, or on one of the two before, that says what bounds it. */
const EXEMPT = /\/\/ Bounded: \S/;

/** The faults in the text of a test, each as `line: what to do`. */
export function waitsIn(text: string): string[] {
  const lines = text.split('\n');
  return RULES.flatMap(({ text: pattern, advice, isFault = () => true }) =>
    [...text.matchAll(pattern)].flatMap((found) => {
      const at = text.slice(0, found.index).split('\n').length;
      const isExempt = lines.slice(Math.max(0, at - 3), at).some((line) => EXEMPT.test(line));
      return isExempt || !isFault(found) ? [] : [`${at}: ${advice}.`];
    }),
  );
}
