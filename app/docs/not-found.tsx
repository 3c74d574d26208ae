import { NothingHere } from '../../components/ui/nothing-here.tsx';
import { TextLink } from '../../components/ui/text-link.tsx';

export const metadata = { title: 'Not found' };

export default function GuideNotFound() {
  return (
    <NothingHere words="No page of the docs has this address. It may have been renamed.">
      <TextLink href="/docs">All docs</TextLink>
    </NothingHere>
  );
}
