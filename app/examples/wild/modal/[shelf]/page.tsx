import { Example } from '../../../../../components/examples/example.tsx';
import { ModalForms } from '../modal-forms.tsx';

interface Props {
  params: Promise<{ shelf: string }>;
}

export default async function ModalShelfPage({ params }: Props) {
  const { shelf } = await params;
  return (
    <Example id="shelf" title={`Mugs for the ${shelf}`} text="The page itself, as its address alone has it.">
      <ModalForms shelf={shelf} />
    </Example>
  );
}
