/** The page of the rules. */
export const CONTRACT = 'docs/contract.md';

/** A rule of the contract. */
export interface Rule {
  code: string;
  line: number;
}

/** The rules of docs/contract.md: its items `- **K1** A key is …`. */
export function readRules(text: string): Rule[] {
  return text.split('\n').flatMap((line, at) => {
    const [, code] = /^- \*\*([A-Z]\d+)\*\* \S/.exec(line) ?? [];
    return code ? [{ code, line: at + 1 }] : [];
  });
}

/** Finds codes of rules in a text that people read. */
export type FindCodes = (text: string) => { code: string; index: number }[];

/**
 * A code is a letter that the contract groups its rules by, and a number. It stands by itself: `P2028`, `%F1`, `$K1` and
 * `H2O` are none. A number that the group does not have makes a code all the same: the rule is missing, or misspelt.
 */
export function codeFinder(rules: readonly Rule[]): FindCodes {
  const letters = [...new Set(rules.map(({ code }) => code[0]))].join('');
  const pattern = new RegExp(`(?<![\\w$%#&./\\\\-])[${letters}][1-9]\\d?(?!\\w|[.-]\\w)`, 'g');
  return (text) => [...text.matchAll(pattern)].map(({ 0: code, index }) => ({ code, index }));
}
