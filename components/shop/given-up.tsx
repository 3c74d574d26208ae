import { Notice } from '../ui/notice.tsx';
import { TextLink } from '../ui/text-link.tsx';

/** Says above the fields of a cart that it may have been paid before. */
export function GivenUp({ orderId }: { orderId: string }) {
  return (
    <Notice tone="warn">
      We could not confirm your earlier payment of this cart. If you were charged, that is given back; what you order
      here is charged besides. <TextLink href={`/orders/${orderId}`}>View that order</TextLink>
    </Notice>
  );
}
