import { NothingHere } from '../../../components/ui/nothing-here.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';

export const metadata = { title: 'Not found' };

export default function OrderNotFound() {
  return (
    <NothingHere words="It may be somebody else’s, or it was never there. If it is yours, sign in as you were when you made it.">
      <TextLink href="/sign-in">Sign in</TextLink>
      <TextLink href="/">Back to the shop</TextLink>
    </NothingHere>
  );
}
