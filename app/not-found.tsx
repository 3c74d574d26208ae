import { PageTitle } from '../components/ui/page-title.tsx';
import { TextLink } from '../components/ui/text-link.tsx';

export const metadata = { title: 'Not found' };

export default function NotFound() {
  return (
    <>
      <PageTitle lead="It may be somebody else's, or it was never there.">There is nothing here</PageTitle>
      <TextLink href="/">Back to the shop</TextLink>
    </>
  );
}
