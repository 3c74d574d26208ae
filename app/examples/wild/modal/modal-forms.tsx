import { notFound } from 'next/navigation';
import { issueKey } from 'oncekit/next';
import { WildForm } from '../../../../components/examples/wild/wild-form.tsx';
import { Button } from '../../../../components/ui/button.tsx';
import { modalOrder, SHELVES } from '../../../../shop/lab/example-visits.ts';
import { orderInModal, orderInModalWithoutKit } from '../actions.ts';

/** The forms of a shelf, in the modal and on the page alike. */
export async function ModalForms({ shelf }: { shelf: string }) {
  if (!SHELVES.some((each) => each === shelf)) notFound();
  return (
    <>
      <WildForm action={orderInModal} intent={`${modalOrder.name}:${shelf}`} initialKey={await issueKey(modalOrder)}>
        <input type="hidden" name="shelf" value={shelf} />
        <label className="flex items-center gap-2">
          <input type="checkbox" name="stay" /> Stay here
        </label>
      </WildForm>
      <section aria-labelledby="modal-bare" className="grid gap-3 border-line border-t pt-4">
        <h3 id="modal-bare" className="font-semibold">
          Without oncekit
        </h3>
        <WildForm action={orderInModalWithoutKit} buttons={<Button variant="quiet">Order without oncekit</Button>} />
      </section>
    </>
  );
}
