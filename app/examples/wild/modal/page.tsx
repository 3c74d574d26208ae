import { Example } from '../../../../components/examples/example.tsx';
import { ShelfList } from '../../../../components/examples/wild/shelf-list.tsx';
import { MODAL_PAGE, SHELVES } from '../../../../shop/lab/example-visits.ts';

export default function ModalPage() {
  return (
    <Example id="list" title="All shelves" text="The order in the modal leads back to this list.">
      <ShelfList base={MODAL_PAGE} shelves={SHELVES} />
    </Example>
  );
}
