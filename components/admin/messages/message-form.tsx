import type { ButtonVariant } from '../../ui/button.tsx';
import { ActKey, type FormAction } from '../keys/key-form.tsx';
import { SubmitButton } from '../shared/submit-button.tsx';

interface Props {
  action: FormAction;
  /** Hidden fields: the event or destination that the form is about. */
  about: Record<string, string>;
  label: string;
  variant?: ButtonVariant;
}

/** One button. Whether it still applies is judged by the database. */
export function MessageForm({ action, about, label, variant = 'primary' }: Props) {
  return (
    <form action={action.send}>
      <ActKey value={action.actKey} />
      {Object.entries(about).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <SubmitButton variant={variant}>{label}</SubmitButton>
    </form>
  );
}
