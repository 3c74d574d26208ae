import { FormNotice } from './form-notice.tsx';

const notices = {
  recorded: { tone: 'good', words: 'Recorded. Below is what came of it so far.' },
  retried: { tone: 'good', words: 'Taken up again. Below is what came of it so far.' },
  changed: { tone: 'warn', words: 'This key has changed since you looked at it. Nothing was done; look again.' },
  reference: { tone: 'bad', words: 'Give the reference that the provider shows, of at most 255 characters.' },
} as const;

export type KeyNoticeName = keyof typeof notices;

export function KeyNotice({ name }: { name: unknown }) {
  return <FormNotice notices={notices} name={name} />;
}
