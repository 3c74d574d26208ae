import { EraseNotice } from '../../../../components/admin/keys/erase-notice.tsx';
import { ActKey } from '../../../../components/admin/keys/key-form.tsx';
import { RequestPage } from '../../../../components/admin/shared/request-page.tsx';
import { SubmitButton } from '../../../../components/admin/shared/submit-button.tsx';
import { Field, TextField } from '../../../../components/ui/field.tsx';
import { keyActs } from '../../../../shop/admin/acts.ts';
import { admin, defaultTenant } from '../../../../shop/admin/admin.ts';
import { Header } from '../../header.tsx';
import { type Params, requireAdmin } from '../../require-admin.ts';
import { erasePrincipal } from '../actions.ts';

export const metadata = { title: 'Erase' };

/** For somebody who asks that what is stored of them be erased. */
export default async function ErasePage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  const account = await requireAdmin('/admin/keys/erase', params);
  const shown = (name: string) => (typeof params[name] === 'string' ? params[name] : undefined);
  const [tenant, principal] = [account.tenant ?? shown('tenant') ?? defaultTenant, shown('principal')];
  const { rows } =
    params.notice === 'erased' && principal
      ? await admin(account).audit({ tenant, principal, type: 'erased', limit: 1, offset: 0 })
      : { rows: [] };
  return (
    <>
      <Header current="keys" />
      <RequestPage
        title="Erase what is stored of a person"
        lead="For somebody who asks for it."
        notice={<EraseNotice notice={params.notice} record={rows[0]} />}
      >
        <form action={erasePrincipal} className="grid gap-4">
          <ActKey value={await keyActs.newKey(account.name)} />
          <Field
            label="Tenant"
            name="tenant"
            required
            maxLength={255}
            defaultValue={tenant}
            readOnly={account.tenant !== null}
          />
          <Field
            label="Principal"
            name="principal"
            required
            maxLength={255}
            autoComplete="off"
            spellCheck={false}
            defaultValue={principal}
          />
          <TextField
            label="Other names of the same person, one a line"
            name="aliases"
            rows={3}
            maxLength={10_000}
            autoComplete="off"
            spellCheck={false}
          />
          <p className="max-w-prose text-muted">
            The stored answers of all this person’s settled keys are erased, and cannot be had back. The rows stay until
            they expire: a retry is told that it was done, and nothing runs again. What else stays is named afterwards,
            and on record.
          </p>
          <div>
            <SubmitButton>Erase it for good</SubmitButton>
          </div>
        </form>
      </RequestPage>
    </>
  );
}
