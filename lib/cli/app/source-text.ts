/** Reads source text without running it. Good enough to find names; it is no parser. */

const PARTS = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

/** The text without its comments, which are replaced by as many line breaks as they held. */
export function withoutComments(source: string): string {
  return source.replace(PARTS, (whole, quoted: string | undefined) => quoted ?? whole.replace(/[^\n]/g, ''));
}

/** The line of a position in a text, from 1. */
export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

/** The text with the insides of strings and comments turned to spaces, so that what is left is code. Positions stay. */
export function blanked(source: string): string {
  const space = (text: string) => text.replace(/[^\n]/g, ' ');
  return source.replace(PARTS, (whole, quoted: string | undefined) =>
    quoted ? `${quoted[0]}${space(quoted.slice(1, -1))}${quoted[0]}` : space(whole),
  );
}

const CLOSES: Record<string, string> = { '{': '}', '(': ')' };

/** Finds the end of the brace or parenthesis at a position; the end of the text, where it does not end. */
export function endOf(code: string, from: number): number {
  const open = code[from] ?? '';
  let depth = 0;
  for (let at = from; at < code.length; at++) {
    if (code[at] === open) depth++;
    else if (code[at] === CLOSES[open] && --depth === 0) return at;
  }
  return code.length;
}

/** The text between the parentheses of the first call of a function; undefined where there is none. */
export function callAt(source: string, name: string): string | undefined {
  const code = blanked(source);
  const found = new RegExp(`\\b${name}\\s*(?:<[^()]*>)?\\(`).exec(code);
  if (!found) return undefined;
  const from = found.index + found[0].length - 1;
  return source.slice(from + 1, endOf(code, from));
}

const OPERATION = /(?:\bexport\s+const\s+(\w+)\s*=\s*[\w.]+\s*)?\.\s*operation\s*\(/g;

/** The names that are given to `.operation({ … })`, where they are plain strings, with those that code exports the results by. */
export function operationsIn(source: string): { index: number; name: string; exported: string | undefined }[] {
  const code = blanked(source);
  return [...code.matchAll(OPERATION)].flatMap(({ 0: call, 1: exported, index: start }) => {
    const index = start + call.length - 1;
    const [, , name] = /\bname\s*:\s*(['"`])([a-z][\w.-]*)\1/.exec(source.slice(index, endOf(code, index))) ?? [];
    return name ? { index, name, exported } : [];
  });
}
