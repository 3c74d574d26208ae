import type { Operation, Outcome } from 'oncekit';
import type { AdminAccount } from './admin.ts';

/** Admins are nobody's customers: their keys have a tenant of their own. */
const TENANT = 'admin';

/** The outcome of an admin form whose operation has nothing to say. */
export type Unsaid = 'changed' | 'invalid' | 'stale' | 'unsure';

/** An admin's request is an operation of the kit: each copy of one form gets the answer that the first one got. */
export function actsOnce<Said extends string>(operation: Operation<never, Said>) {
  const scopeOf = (actor: string) => ({ tenant: TENANT, principal: actor });
  return {
    /** For the forms of one page. Their page is made anew when one of them was sent. */
    newKey: async (actor: string): Promise<string> => (await operation.mintKey(scopeOf(actor))) ?? '',

    /** Does what the form asks for, once for its key. A form of an older deploy has none, and is an intent of its own. */
    once: async (act: string, form: FormData, { name: actor, tenant }: AdminAccount): Promise<Said | Unsaid> => {
      const payload = new FormData();
      for (const [name, value] of form) payload.append(name, value);
      payload.set('act', act);
      // Whatever the form says: an admin of one tenant names no other. Undefined would be a tenant of that name.
      if (tenant !== null) payload.set('tenant', tenant ?? '');
      const key = form.get('idempotency_key');
      const outcome = await operation.execute({
        ...(typeof key === 'string' ? { key } : { key: undefined, keyless: true }),
        payload: payload as never,
        scope: scopeOf(actor),
        acceptKeys: 'minted',
      });
      return outcome.ok ? outcome.data : unsaid(outcome.code);
    },
  };
}

function unsaid(code: Exclude<Outcome<never>, { ok: true }>['code']): Unsaid {
  if (code === 'validation') return 'invalid';
  // Another form of the same page was sent first.
  if (code === 'payload_mismatch') return 'changed';
  return code.startsWith('key_') ? 'stale' : 'unsure';
}
