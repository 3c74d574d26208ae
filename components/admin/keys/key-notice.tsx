import { FormNotice } from '../shared/form-notice.tsx';

const notices = {
  recorded: { tone: 'good', words: 'Recorded. Below is what came of it so far.' },
  retried: { tone: 'good', words: 'Taken up again. Below is what came of it so far.' },
  released: { tone: 'good', words: 'Released. A worker or the customer’s next try goes on with it.' },
  forgotten: { tone: 'good', words: 'Forgotten. The row stays until it expires, and nothing runs again.' },
  acknowledged: { tone: 'good', words: 'Recorded: you have seen to it. The key is deleted once it has expired.' },
  fenced: { tone: 'good', words: 'Given up. From now on this key never executes.' },
  stale: { tone: 'warn', words: 'This page was open for too long. Nothing was done; ask for it again.' },
  unsure: {
    tone: 'warn',
    words: 'This could not be seen through. Look at what is recorded below, then ask for it again.',
  },
  invalid: { tone: 'bad', words: 'Give the reference that the provider shows, of at most 255 characters.' },
  changed: { tone: 'warn', words: 'This key has changed since you looked at it. Nothing was done; look again.' },
  refused: { tone: 'bad', words: 'Nothing was recorded. Something was heard of this call that your word overrules' },
  not_released: {
    tone: 'warn',
    words:
      'Not released: its lease is live, or a call has begun at a provider that might not know it again. Nothing was done.',
  },
  not_forgotten: {
    tone: 'warn',
    words: 'Not forgotten: the key is not settled, or waits for a person, and what is stored is needed.',
  },
  not_acknowledged: { tone: 'warn', words: 'Nothing was done: the key is not settled, and has to be finished first.' },
  was_fenced: { tone: 'warn', words: 'This key was given up before. Nothing was done.' },
  not_fenced: {
    tone: 'warn',
    words: 'Not given up: this key runs or has run. Nothing was done. This is what became of it.',
  },
} as const;

export type KeyNoticeName = keyof typeof notices;

/** @param heard what was heard of the key, where that is more than was shown to whoever has sent the form */
export function KeyNotice({ name, heard }: { name: unknown; heard?: string | null }) {
  const words = `${notices.refused.words}${heard ? `: ${heard}` : ''}.`;
  return <FormNotice notices={{ ...notices, refused: { ...notices.refused, words } }} name={name} />;
}
