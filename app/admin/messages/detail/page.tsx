import { notFound } from 'next/navigation';
import { z } from 'zod';
import { MessageNotice } from '../../../../components/admin/messages/message-notice.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { messageActs } from '../../../../shop/admin/messages-acts.ts';
import { nameOf } from '../../../../shop/admin/names.ts';
import { ofAllTenants } from '../../../../shop/admin/of-all-tenants.ts';
import { Header } from '../../header.tsx';
import { type Params, requireAdmin } from '../../require-admin.ts';
import { Received, Sent } from './event.tsx';

export const metadata = { title: 'Event' };

const address = z.union([
  z.object({ box: z.literal('outbox'), event: nameOf(255) }),
  z.object({ box: z.literal('inbox'), source: nameOf(100), event: nameOf(255) }),
]);

/** In the query and not in the path, as for keys: a sender's ids may hold anything. */
export default async function MessagePage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  const { name: actor } = ofAllTenants(await requireAdmin('/admin/messages/detail', params));
  const found = address.safeParse(params);
  if (!found.success) notFound();
  const { data: at } = found;
  const actKey = await messageActs.newKey(actor);
  return (
    <>
      <Header current="messages" />
      <p className="mb-2 text-sm">
        <TextLink href={`/admin/messages?box=${at.box}`}>All of the {at.box}</TextLink>
      </p>
      {at.box === 'outbox' ? (
        <Sent eventId={at.event} actKey={actKey} notice={<MessageNotice name={params.notice} />} />
      ) : (
        <Received
          source={at.source}
          eventId={at.event}
          actKey={actKey}
          notice={<MessageNotice name={params.notice} />}
        />
      )}
    </>
  );
}
