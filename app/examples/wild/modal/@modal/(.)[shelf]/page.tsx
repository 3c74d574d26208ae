import { RouteModal } from '../../../../../../components/examples/wild/route-modal.tsx';
import { ModalForms } from '../../modal-forms.tsx';

interface Props {
  params: Promise<{ shelf: string }>;
}

export default async function InterceptedShelfPage({ params }: Props) {
  const { shelf } = await params;
  return (
    <RouteModal title={`Mugs for the ${shelf}`}>
      <ModalForms shelf={shelf} />
    </RouteModal>
  );
}
