import type { ReactNode } from 'react';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';

export const metadata = { title: 'A modal' };

interface Props {
  children: ReactNode;
  /** The page of a shelf, where a link within these pages leads to it. */
  modal: ReactNode;
}

export default function ModalLayout({ children, modal }: Props) {
  return (
    <>
      <PageTitle lead="Opened by a link it is a modal over the list, and by its address a page of its own.">
        A modal
      </PageTitle>
      {children}
      {modal}
      <p className="mt-6">
        <TextLink href="/examples/wild" prefetch={false}>
          Forms in the wild
        </TextLink>
      </p>
    </>
  );
}
