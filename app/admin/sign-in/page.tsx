import { redirect } from 'next/navigation';
import { Button } from '../../../components/ui/button.tsx';
import { Field } from '../../../components/ui/field.tsx';
import { Notice } from '../../../components/ui/notice.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { Panel } from '../../../components/ui/panel.tsx';
import { adminPath, isAdmin } from '../../../shop/admin/session.ts';
import { signIn } from '../actions.ts';
import type { Params } from '../require-admin.ts';

export async function generateMetadata({ searchParams }: { searchParams: Promise<Params> }) {
  return { title: messageOf(await searchParams) ? 'Error: Admin sign-in' : 'Admin sign-in' };
}

export default async function AdminSignInPage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  const next = adminPath(params.next);
  if (await isAdmin()) redirect(next);
  const message = messageOf(params);
  return (
    <div className="mx-auto max-w-md">
      <PageTitle lead="The demo prints the password when it starts.">Admin</PageTitle>
      <Panel>
        <form action={signIn} className="grid gap-4">
          {message ? (
            <div role="alert">
              <Notice tone="bad">{message}</Notice>
            </div>
          ) : null}
          <input type="hidden" name="next" value={next} />
          <Field label="Password" name="password" type="password" autoComplete="current-password" required />
          <Button>Sign in</Button>
        </form>
      </Panel>
    </div>
  );
}

function messageOf({ error, minutes }: Params): string | null {
  if (error === 'wrong') return 'That is not the admin password.';
  if (error !== 'wait') return null;
  const count = /^\d{1,4}$/.test(String(minutes)) ? Number(minutes) : 1;
  return `Too many wrong passwords. Wait ${count === 1 ? 'a minute' : `${count} minutes`}, then try again.`;
}
