import type { IdempotentSubmit } from 'oncekit/react';
import type { ComponentProps } from 'react';
import { BusyButton } from '../ui/busy-button.tsx';

interface Props extends Omit<ComponentProps<typeof BusyButton>, 'isBusy'> {
  submit: Pick<IdempotentSubmit<unknown>, 'canCheck' | 'cause' | 'isPending' | 'status'>;
}

/**
 * The button of an idempotent form. It steps back where nobody knows what became of the last submit: to ask helps more than to send. While
 * the server has it and knows no end, the button does nothing; not `disabled`, which would drop the focus.
 */
export function IdempotentSubmitButton({ submit, variant, onClick, ...props }: Props) {
  const isUnsettled = submit.cause === 'unsettled';
  const isInDoubt = submit.canCheck && submit.cause !== 'absent' && submit.cause !== 'unreadable';
  return (
    <BusyButton
      variant={variant ?? (isInDoubt ? 'quiet' : 'primary')}
      isBusy={submit.isPending && submit.status !== 'checking'}
      aria-disabled={isUnsettled || undefined}
      onClick={isUnsettled ? (event) => event.preventDefault() : onClick}
      {...props}
    />
  );
}
