import { Button } from '../../components/ui/button.tsx';
import { Field } from '../../components/ui/field.tsx';
import { Notice } from '../../components/ui/notice.tsx';
import { PageTitle } from '../../components/ui/page-title.tsx';
import { Panel } from '../../components/ui/panel.tsx';
import { signIn } from './actions.ts';

export const metadata = { title: 'Sign in' };

type Params = Promise<{ error?: string; account?: string; next?: string }>;

export default async function SignInPage({ searchParams }: { searchParams: Params }) {
  const { error, account, next } = await searchParams;
  return (
    <div className="mx-auto max-w-md">
      <PageTitle lead="The demo has two accounts: alice with the token demo-alice, and bob with demo-bob.">
        Sign in
      </PageTitle>
      <Panel>
        <form action={signIn} className="grid gap-4">
          {error ? (
            <div role="alert">
              <Notice tone="bad">Account and token do not fit together.</Notice>
            </div>
          ) : null}
          <input type="hidden" name="next" value={next ?? '/'} />
          <Field
            label="Account"
            name="account"
            autoComplete="username"
            autoCapitalize="none"
            required
            defaultValue={account}
          />
          <Field label="Token" name="token" type="password" autoComplete="current-password" required />
          <Button>Sign in</Button>
        </form>
      </Panel>
    </div>
  );
}
