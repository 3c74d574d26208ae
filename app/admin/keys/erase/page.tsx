import { AdminHeader } from '../../../../components/admin/admin-header.tsx';
import { EraseNotice } from '../../../../components/admin/erase-notice.tsx';
import { SubmitButton } from '../../../../components/admin/submit-button.tsx';
import { Field } from '../../../../components/ui/field.tsx';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { Panel } from '../../../../components/ui/panel.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { TENANT } from '../../../../lib/demo/visitor.ts';
import { signOut } from '../../actions.ts';
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
      <AdminHeader current="keys" signOut={signOut} />
      <p className="mb-2 text-sm">
        <TextLink href="/admin/keys">All keys</TextLink>
      </p>
      <PageTitle lead="For somebody who asks for it.">Erase what is stored of a person</PageTitle>
      <EraseNotice params={params} />
      <Panel className="max-w-2xl">
        <form action={erasePrincipal} className="grid gap-4">
          <Field label="Tenant" name="tenant" required maxLength={255} defaultValue={shown('tenant') ?? TENANT} />
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
            until they expire: a retry is told that it was done, and nothing runs again. Orders, refunds and events stay
            as they are.
          </p>
          <div>
            <SubmitButton>Erase it for good</SubmitButton>
          </div>
        </form>
      </Panel>
    </>
  );
}
