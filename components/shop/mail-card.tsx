import type { listMails } from '../../shop/orders/mails.ts';
import { Icon, type IconName } from '../ui/icon.tsx';
import { TextLink } from '../ui/text-link.tsx';

type Mail = Awaited<ReturnType<typeof listMails>>[number];

const kinds: Record<string, { icon: IconName; name: string }> = {
  receipt: { icon: 'receipt', name: 'Receipt' },
  refund_receipt: { icon: 'back', name: 'Refund' },
};

/** A mail, as an item of a list. */
export function MailCard({ mail: { kind, subject, recipient, body, orderId, sentAt } }: { mail: Mail }) {
  const { icon, name } = kinds[kind] ?? { icon: 'letter', name: 'Mail' };
  return (
    <li data-mail={kind} className="rounded-xl border border-line bg-surface shadow-raise">
      <div className="flex gap-4 border-b border-line p-5 sm:px-6">
        <span className="flex size-10 shrink-0 items-center justify-center rounded-full bg-sunken text-accent">
          <Icon name={icon} />
        </span>
        <div className="min-w-0 flex-1">
          <h2 className="text-lg font-semibold">{subject}</h2>
          <p className="text-sm break-words text-muted">
            {name} from oncekit shop to {recipient}
          </p>
          <p className="text-sm text-muted">
            <time dateTime={sentAt.toISOString()}>{when.format(sentAt)} UTC</time>
          </p>
        </div>
      </div>
      <div className="p-5 sm:px-6 sm:pl-20">
        <p className="break-words whitespace-pre-line">{body}</p>
        <p className="mt-4">
          <TextLink href={`/orders/${orderId}`} prefetch={false}>
            View the order
          </TextLink>
        </p>
      </div>
    </li>
  );
}

const when = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
