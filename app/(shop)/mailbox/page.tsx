import { MailCard } from '../../../components/shop/mail-card.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';
import { listMails } from '../../../lib/demo/mails.ts';
import { currentPrincipal } from '../../../lib/demo/visitor.ts';

export const metadata = { title: 'Mailbox' };

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
        <p>
          There is no mail for you yet. A receipt comes a moment after you have paid for{' '}
          <TextLink href="/">something in the shop</TextLink>.
        </p>
      )}
      <p className="mt-8">
        <TextLink href="/receiver" prefetch={false}>
          What other systems are told
        </TextLink>
      </p>
    </>
  );
}
