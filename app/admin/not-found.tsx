import { NothingHere } from '../../components/ui/nothing-here.tsx';
import { TextLink } from '../../components/ui/text-link.tsx';
import { Header } from './header.tsx';

export const metadata = { title: 'Not found' };

/** For an admin alone: pages ask everybody else to sign in first. */
export default function AdminNotFound() {
  return (
    <>
      <Header />
      <NothingHere words="No key, event or page has this address. A key’s row goes when it expires, an event’s when its retention is over.">
        <TextLink href="/admin/keys">All keys</TextLink>
        <TextLink href="/admin/messages">All messages</TextLink>
      </NothingHere>
    </>
  );
}
