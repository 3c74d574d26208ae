import type { Messages } from './labels.ts';

/** The words that the first load brings, since it can reach these states by itself. The others: messages-later.ts. */
export const FIRST_MESSAGES = {
  executing: 'Sending…',
  unknown: 'We do not know yet whether it went through. Sending it again is safe.',
  checking: 'Checking whether it went through…',
  hasSucceeded: 'It went through.',
  hasErrored: 'This could not be done.',
  hasNavigated: 'Taking you there…',
  checkAgain: 'Check again',
} satisfies Partial<Messages>;
