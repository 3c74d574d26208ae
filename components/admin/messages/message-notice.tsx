import { FormNotice } from '../shared/form-notice.tsx';

const notices = {
  requeued: { tone: 'good', words: 'Requeued. Below is what came of it so far.' },
  requeued_all: { tone: 'good', words: 'All its dead letters are requeued, and go out in their order.' },
  requeued_some: {
    tone: 'warn',
    words: 'A first part is requeued, and goes out in its order. What is left is counted below: requeue all again.',
  },
  none_dead: { tone: 'warn', words: 'It has no dead letters any more. Nothing was done.' },
  skipped: { tone: 'good', words: 'Skipped. What waited behind it goes out.' },
  resumed: { tone: 'good', words: 'Resumed. What waited goes out in its order.' },
  not_stopped: { tone: 'warn', words: 'It is not stopped any more. Nothing was done.' },
  without_handle: {
    tone: 'warn',
    words: 'Nobody runs events of this source again. Give it a `handle` in createInbox, and requeue the event then.',
  },
  stale: { tone: 'warn', words: 'This page was open for too long. Nothing was done; ask for it again.' },
  unsure: { tone: 'warn', words: 'This could not be seen through. Look at what is recorded, then ask for it again.' },
  changed: { tone: 'warn', words: 'This event has changed since you looked at it. Nothing was done; look again.' },
} as const;

export function MessageNotice({ name }: { name: unknown }) {
  return <FormNotice notices={notices} name={name} />;
}
