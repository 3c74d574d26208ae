/**
 * One line for a terminal or a log. Names come from others: what would begin another line, such as a forged one, move the cursor or
 * turn the direction of text is shown as `?`.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}

/** One line of a database's or a network's error. Prisma puts what matters last; a refused connection has a code and no message. */
export function errorLine(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  const said = (message ?? '').trim().split('\n').at(-1) || code || String(error);
  return said.replace(/\.$/, '');
}
