import { Empty } from '../components/ui/empty.tsx';
import { PageTitle } from '../components/ui/page-title.tsx';
import { TextLink } from '../components/ui/text-link.tsx';

export const metadata = { title: 'Not found' };

export default function NotFound() {
  return (
    <>
      <PageTitle>There is nothing here</PageTitle>
      <Empty icon="lost">
        <p className="max-w-prose text-muted">It may be somebody else’s, or it was never there.</p>
        <TextLink href="/">Back to the shop</TextLink>
      </Empty>
    </>
  );
}
