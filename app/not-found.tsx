import { Empty } from '../components/ui/empty.tsx';
import { PageTitle } from '../components/ui/page-title.tsx';
import { TextLink } from '../components/ui/text-link.tsx';

export const metadata = { title: 'Not found' };

export default function NotFound() {
  return (
    <>
      <PageTitle>There is nothing here</PageTitle>
      <Empty icon="lost">
        <p className="max-w-prose text-muted">
          It may be somebody else’s, or it was never there. If it is yours, sign in as you were when you made it.
        </p>
        <TextLink href="/sign-in">Sign in</TextLink>
        <TextLink href="/">Back to the shop</TextLink>
      </Empty>
    </>
  );
}
