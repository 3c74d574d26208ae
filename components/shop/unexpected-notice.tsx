import { Notice } from '../ui/notice.tsx';
import { TextLink } from '../ui/text-link.tsx';

/** Says that money waits for somebody to see to it, and where. Nothing where none does. */
export function UnexpectedNotice({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <div role="alert" className="mb-6">
      <Notice tone="bad">
        Money that nobody expected: {count.toLocaleString('en-US')}, and nobody has seen to{' '}
        {count === 1 ? 'it' : 'them'}.{' '}
        <TextLink href="/admin/payments" prefetch={false}>
          Look at {count === 1 ? 'it' : 'them'}
        </TextLink>
      </Notice>
    </div>
  );
}
