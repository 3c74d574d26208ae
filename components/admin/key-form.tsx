import type { KeyDetail } from 'oncekit/admin';
import type { ReactNode } from 'react';

/** A server action, which the page passes in. */
export type FormAction = (form: FormData) => Promise<void>;

interface Props {
  action: FormAction;
  detail: KeyDetail;
  children: ReactNode;
}

/** A form about a key as it is seen here: the token lets the server tell whether anybody has gone on with it since. */
export function KeyForm({ action, detail, children }: Props) {
  const { tenant, principal, operation, key, fencingToken } = detail;
  const seen = { tenant, principal, operation, key, fencing_token: String(fencingToken) };
  return (
    <form action={action} className="grid gap-3">
      {Object.entries(seen).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      {children}
    </form>
  );
}
