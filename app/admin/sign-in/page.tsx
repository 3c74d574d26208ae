import { Button } from '../../../components/ui/button.tsx';
import { Field } from '../../../components/ui/field.tsx';
import { Notice } from '../../../components/ui/notice.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { Panel } from '../../../components/ui/panel.tsx';
import { signIn } from '../actions.ts';

export const metadata = { title: 'Admin sign-in' };

const errors: Record<string, string> = {
  wrong: 'That is not the admin password.',
  'too-many': 'Too many wrong passwords. Wait a minute, then try again.',
};

export default async function AdminSignInPage({ searchParams }: { searchParams: Promise<{ error?: string }> }) {
  const message = errors[(await searchParams).error ?? ''];
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
          <Field label="Password" name="password" type="password" autoComplete="current-password" required />
          <Button>Sign in</Button>
        </form>
      </Panel>
    </div>
  );
}
