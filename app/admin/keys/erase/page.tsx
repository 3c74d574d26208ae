import { EraseNotice } from '../../../../components/admin/erase-notice.tsx';
import { RequestPage } from '../../../../components/admin/request-page.tsx';
import { SubmitButton } from '../../../../components/admin/submit-button.tsx';
import { Field } from '../../../../components/ui/field.tsx';
import { defaultTenant } from '../../../../lib/demo/admin.ts';
import { Header } from '../../header.tsx';
import { type Params, requireAdmin } from '../../require-admin.ts';
import { erasePrincipal } from '../actions.ts';

export const metadata = { title: 'Erase' };

/** For somebody who asks that what is stored of them be erased. */
export default async function ErasePage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  await requireAdmin('/admin/keys/erase', params);
  const shown = (name: string) => (typeof params[name] === 'string' ? params[name] : undefined);
  return (
    <>
      <Header current="keys" />
      <RequestPage
        title="Erase what is stored of a person"
        lead="For somebody who asks for it."
        notice={<EraseNotice params={params} />}
      >
        <form action={erasePrincipal} className="grid gap-4">
          <Field
            label="Tenant"
            name="tenant"
            required
            maxLength={255}
            defaultValue={shown('tenant') ?? defaultTenant}
          />
          <Field
            label="Principal"
            name="principal"
            required
            maxLength={255}
            autoComplete="off"
            spellCheck={false}
            defaultValue={shown('principal')}
          />
          <p className="max-w-prose text-muted">
            The stored answers of all this principal’s settled keys are erased, and cannot be had back. The rows stay
            until they expire: a retry is told that it was done, and nothing runs again. Your other rows and events stay
            as they are.
          </p>
          <div>
            <SubmitButton>Erase it for good</SubmitButton>
          </div>
        </form>
      </RequestPage>
    </>
  );
}
