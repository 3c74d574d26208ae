import { TextLink } from '../ui/text-link.tsx';

export function OrderLink({ id }: { id: string }) {
  return (
    <TextLink href={`/orders/${id}`} className="font-mono text-sm break-all" data-order-id={id}>
      {id}
    </TextLink>
  );
}
