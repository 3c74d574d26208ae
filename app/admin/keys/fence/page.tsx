import { AdminHeader } from '../../../../components/admin/admin-header.tsx';
import { FormNotice } from '../../../../components/admin/form-notice.tsx';
import { SubmitButton } from '../../../../components/admin/submit-button.tsx';
import { Field, SelectField } from '../../../../components/ui/field.tsx';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { Panel } from '../../../../components/ui/panel.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { operations } from '../../../../lib/demo/operations.ts';
import { TENANT } from '../../../../lib/demo/visitor.ts';
import { signOut } from '../../actions.ts';
import { type Params, requireAdmin } from '../../require-admin.ts';
import { fenceKey } from '../actions.ts';

export const metadata = { title: 'Give up a key' };

const notices = {
  invalid: { tone: 'bad', words: 'Fill in all four. A key has no spaces.' },
  refused: {
    tone: 'warn',
    words:
      'Not given up: it is no key, it is too old to be sure that it never ran, or it runs just now. Nothing was done.',
  },
} as const;

/** For a person who holds a form whose fate nobody knows. */
export default async function FencePage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  await requireAdmin('/admin/keys/fence', params);
  const shown = (name: string) => (typeof params[name] === 'string' ? params[name] : undefined);
  return (
    <>
      <AdminHeader current="keys" signOut={signOut} />
      <p className="mb-2 text-sm">
        <TextLink href="/admin/keys">All keys</TextLink>
      </p>
      <PageTitle lead="For a form whose fate nobody knows, and whose key is not in the list.">Give up a key</PageTitle>
      <FormNotice notices={notices} name={params.notice} />
      <Panel className="max-w-2xl">
        <form action={fenceKey} className="grid gap-4">
          <div className="grid gap-4 sm:grid-cols-2">
            <Field label="Tenant" name="tenant" required maxLength={255} defaultValue={shown('tenant') ?? TENANT} />
            <SelectField label="Operation" name="operation" defaultValue={shown('operation')}>
              {operations.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </SelectField>
          </div>
          <Field
            label="Principal"
            name="principal"
            required
            maxLength={255}
            autoComplete="off"
            spellCheck={false}
            defaultValue={shown('principal')}
          />
          <Field
            label="Key"
            name="key"
            required
            maxLength={255}
            autoComplete="off"
            spellCheck={false}
            defaultValue={shown('key')}
          />
          <p className="max-w-prose text-muted">
            From then on this key never executes, not even when the form is sent after all: whoever sends it is told so,
            and may begin anew. A key that runs or has run is left alone, and you see what became of it.
          </p>
          <div>
            <SubmitButton>Give it up for good</SubmitButton>
          </div>
        </form>
      </Panel>
    </>
  );
}
