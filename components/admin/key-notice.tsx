import { Notice } from '../ui/notice.tsx';

const notices = {
  recorded: { tone: 'good', words: 'Recorded. Below is what came of it so far.' },
  retried: { tone: 'good', words: 'Taken up again. Below is what came of it so far.' },
  changed: { tone: 'warn', words: 'This key has changed since you looked at it. Nothing was done; look again.' },
  reference: { tone: 'bad', words: 'Give the reference that the provider shows, of at most 255 characters.' },
} as const;

export type KeyNoticeName = keyof typeof notices;

/** What came of the form that was sent. An address may name anything: what is not known shows nothing. */
export function KeyNotice({ name }: { name: unknown }) {
  if (typeof name !== 'string' || !Object.hasOwn(notices, name)) return null;
  const { tone, words } = notices[name as KeyNoticeName];
  return (
    <div role={tone === 'good' ? 'status' : 'alert'} className="mb-6">
      <Notice tone={tone}>{words}</Notice>
    </div>
  );
}
