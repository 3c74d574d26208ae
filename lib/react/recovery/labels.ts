import type { Messages } from '../labels.ts';

/** The words of what can only happen once the rest has been loaded (recovery.ts), and that come with it. */
export const LATER_MESSAGES = {
  idle: '', // as without it
  retrying: 'Trying again. It is done only once.',
  offline: 'You are offline. It is sent when you are back.',
  absent: 'It has not reached us so far. Sending it again is safe.',
  recovered: 'This was already sent, and it went through.',
  startOver: 'Start over',
  show: 'Show it',
} satisfies Partial<Messages>;
