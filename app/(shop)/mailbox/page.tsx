import { KeepFresh } from '../../../components/shop/keep-fresh.tsx';
import { MailCard } from '../../../components/shop/mail-card.tsx';
import { Empty } from '../../../components/ui/empty.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';
import { listMails } from '../../../shop/orders/mails.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';

export const metadata = { title: 'Mailbox' };

/** As many as `listMails` gives. */
const MOST = 50;

export default async function MailboxPage() {
  const mails = await listMails(await currentPrincipal());
  return (
    <>
      <PageTitle lead="What the shop would have mailed you. One receipt for each payment, however often its job ran.">
        Mailbox
      </PageTitle>
      {mails.length > 0 ? (
        <ul className="grid gap-4">
          {mails.map((mail) => (
            <MailCard key={String(mail.id)} mail={mail} />
          ))}
        </ul>
      ) : (
        <Empty icon="letter">
          <div className="grid gap-1">
            <p className="text-lg font-medium">No mail yet</p>
            <p className="text-muted">A receipt comes a moment after you have paid.</p>
          </div>
          <TextLink href="/">Choose something in the shop</TextLink>
        </Empty>
      )}
      {mails.length === MOST ? <p className="mt-6 text-sm text-muted">Shown are the newest {MOST}.</p> : null}
      <p className="mt-8">
        <TextLink href="/receiver" prefetch={false}>
          What other systems are told
        </TextLink>
      </p>
      <KeepFresh />
    </>
  );
}
