import { ActKey } from '../../../../components/admin/keys/key-form.tsx';
import { FormNotice } from '../../../../components/admin/shared/form-notice.tsx';
import { RequestPage } from '../../../../components/admin/shared/request-page.tsx';
import { SubmitButton } from '../../../../components/admin/shared/submit-button.tsx';
import { Field, SelectField } from '../../../../components/ui/field.tsx';
import { keyActs } from '../../../../shop/admin/acts.ts';
import { defaultTenant, operationNames } from '../../../../shop/admin/admin.ts';
import { Header } from '../../header.tsx';
import { type Params, requireAdmin } from '../../require-admin.ts';
import { fenceKey } from '../actions.ts';

export const metadata = { title: 'Give up a key' };

const notices = {
  invalid: { tone: 'bad', words: 'Fill in all four. A key has no spaces.' },
  stale: { tone: 'warn', words: 'This page was open for too long. Nothing was done; ask for it again.' },
  changed: {
    tone: 'warn',
    words: 'Another key was given up from this page before. Nothing was done; ask for it again.',
  },
  unsure: { tone: 'warn', words: 'Not given up: it may run just now. Ask for it again in a moment.' },
  refused: {
    tone: 'warn',
    words:
      'Not given up: it is no key, it is too old to be sure that it never ran, or it runs just now. Nothing was done.',
  },
} as const;

/** For a person who holds a form whose fate nobody knows. */
export default async function FencePage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  const account = await requireAdmin('/admin/keys/fence', params);
  const shown = (name: string) => (typeof params[name] === 'string' ? params[name] : undefined);
  return (
    <>
      <Header current="keys" />
      <RequestPage
        title="Give up a key"
        lead="For a form whose fate nobody knows, and whose key is not in the list."
        notice={<FormNotice notices={notices} name={params.notice} />}
      >
        <form action={fenceKey} className="grid gap-4">
          <ActKey value={await keyActs.newKey(account.name)} />
          <div className="grid gap-4 sm:grid-cols-2">
            <Field
              label="Tenant"
              name="tenant"
              required
              maxLength={255}
              defaultValue={account.tenant ?? shown('tenant') ?? defaultTenant}
              readOnly={account.tenant !== null}
            />
            <SelectField label="Operation" name="operation" defaultValue={shown('operation')}>
              {operationNames.map((name) => (
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
      </RequestPage>
    </>
  );
}
