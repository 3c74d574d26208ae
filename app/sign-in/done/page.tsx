import { Empty } from '../../../components/ui/empty.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';

export const metadata = { title: 'Signed in' };

/** For a sign-in in a tab of its own: the form in the other tab still holds what was entered. */
export default function SignedInPage() {
  return (
    <>
      <PageTitle>You are signed in</PageTitle>
      <Empty icon="check">
        <p className="max-w-prose text-muted">
          You can close this tab and go back to the other one. What you entered there is still there.
        </p>
        <TextLink href="/">Go to the shop</TextLink>
      </Empty>
    </>
  );
}
