import type { listMails } from '../../lib/demo/mails.ts';
import { TextLink } from '../ui/text-link.tsx';

type Mail = Awaited<ReturnType<typeof listMails>>[number];

/** A mail, as an item of a list. */
export function MailCard({ mail: { kind, subject, recipient, body, orderId, sentAt } }: { mail: Mail }) {
  return (
    <li data-mail={kind} className="rounded-xl border border-line bg-surface p-5 sm:p-6">
      <h2 className="text-lg font-semibold">{subject}</h2>
      <p className="mt-1 text-sm break-words text-muted">
        To {recipient}, <time dateTime={sentAt.toISOString()}>{when.format(sentAt)} UTC</time>
      </p>
      <p className="mt-3 break-words whitespace-pre-line">{body}</p>
      <p className="mt-3">
        <TextLink href={`/orders/${orderId}`}>View the order</TextLink>
      </p>
    </li>
  );
}

const when = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
