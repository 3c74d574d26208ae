import { UsageError } from '../command.ts';

/** The forms that one name takes: of the operation and its files, and in code. */
export interface Names {
  /** `place-order`: the operation's name, the names of its files, the path of its page. */
  kebab: string;
  /** `placeOrder`: the operation in code. */
  camel: string;
  /** `Place order`: in the page. */
  words: string;
}

/** Words that TypeScript keeps to itself, and names that the written files have already. */
const TAKEN = new Set([
  ...['await', 'break', 'case', 'catch', 'class', 'const', 'continue', 'debugger', 'default', 'delete', 'do', 'else'],
  ...['enum', 'export', 'extends', 'false', 'finally', 'for', 'function', 'if', 'implements', 'import', 'in'],
  ...['instanceof', 'interface', 'let', 'new', 'null', 'package', 'private', 'protected', 'public', 'return', 'static'],
  ...['super', 'switch', 'this', 'throw', 'true', 'try', 'typeof', 'var', 'void', 'while', 'with', 'yield'],
  ...['arguments', 'eval', 'schema', 'input', 'idempotency', 'operations', 'messaging', 'prisma', 'z'],
]);

/** @throws UsageError for a name that no file and no operation can have */
export function namesOf(given: string): Names {
  const parts = given.replace(/([a-z0-9])([A-Z])/g, '$1-$2').split(/[-_.\s]+/);
  const kebab = parts.join('-').toLowerCase();
  const camel = kebab.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(kebab) || kebab.length > 60) {
    throw new UsageError(
      `"${given}" cannot be the name of an operation.`,
      'Letters, digits and dashes, such as place-order, at most 60.',
    );
  }
  if (TAKEN.has(camel))
    throw new UsageError(`"${given}" has a meaning of its own in code.`, `Such as: ${kebab}-order.`);
  return { kebab, camel, words: kebab.replaceAll('-', ' ').replace(/^./, (letter) => letter.toUpperCase()) };
}
