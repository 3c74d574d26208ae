import { Icon } from '../ui/icon.tsx';
import { Panel } from '../ui/panel.tsx';
import { TextLink } from '../ui/text-link.tsx';

/** In the place of the form: there is nothing to fill in any more. */
export function AlreadyPlaced({ orderId, notice }: { orderId: string; notice?: string | undefined }) {
  return (
    <Panel role="status" data-state="hasSucceeded" className="grid justify-items-start gap-3">
      <p className="flex items-center gap-2 text-lg font-semibold text-good">
        <Icon name="check" />
        This order is already placed
      </p>
      {notice ? <p>{notice}</p> : null}
      <p>You were charged once, and nothing more is to be done.</p>
      <p className="flex flex-wrap gap-x-6 gap-y-2">
        <OrderLink id={orderId} />
        <TextLink href="/">Start a new order</TextLink>
      </p>
    </Panel>
  );
}

export function OrderLink({ id }: { id: string }) {
  return <TextLink href={`/orders/${id}`}>View the order</TextLink>;
}
