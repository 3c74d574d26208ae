import type { ReactNode } from 'react';
import { WildSection } from '../../../../components/examples/wild/wild-section.tsx';

export const metadata = { title: 'A modal' };

interface Props {
  children: ReactNode;
  /** The page of a shelf, where a link within these pages leads to it. */
  modal: ReactNode;
}

export default function ModalLayout({ children, modal }: Props) {
  return (
    <WildSection
      title="A modal"
      lead="Opened by a link it is a modal over the list, and by its address a page of its own."
    >
      {children}
      {modal}
    </WildSection>
  );
}
