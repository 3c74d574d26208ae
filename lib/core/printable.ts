/**
 * One line for a terminal or a log. Names come from others: what would begin another line, such as a forged one, move the cursor or
 * turn the direction of text is shown as `?`.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}
