import type { KeyDetail } from 'oncekit/admin';
import type { ReactNode } from 'react';

/** A server action, which the page passes in, and the key under which it is done once however often it is sent. */
export interface FormAction {
  send: (form: FormData) => Promise<void>;
  actKey: string;
}

/** The key, in a form of an admin. */
export function ActKey({ value }: { value: string }) {
  return <input type="hidden" name="idempotency_key" value={value} autoComplete="off" />;
}

interface Props {
  action: FormAction;
  detail: KeyDetail;
  children: ReactNode;
}

/** A form about a key as it is seen here: token and revision let the server tell what has changed since. */
export function KeyForm({ action, detail, children }: Props) {
  const { tenant, principal, operation, key, fencingToken, revision } = detail;
  const seen = { tenant, principal, operation, key, fencing_token: String(fencingToken), revision };
  return (
    <form action={action.send} className="grid gap-3">
      <ActKey value={action.actKey} />
      {Object.entries(seen).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      {children}
    </form>
  );
}
