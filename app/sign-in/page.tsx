import { Field } from '../../components/ui/field.tsx';
import { Notice } from '../../components/ui/notice.tsx';
import { PageTitle } from '../../components/ui/page-title.tsx';
import { Panel } from '../../components/ui/panel.tsx';
import { PendingButton } from '../../components/ui/pending-button.tsx';
import { signIn } from './actions.ts';

type Params = Promise<{ error?: string; account?: string; next?: string }>;

export async function generateMetadata({ searchParams }: { searchParams: Params }) {
  return { title: (await searchParams).error ? 'Error: Sign in' : 'Sign in' };
}

export default async function SignInPage({ searchParams }: { searchParams: Params }) {
  const { error, account, next } = await searchParams;
  return (
    <div className="mx-auto max-w-md">
      <PageTitle lead="What is in your cart, and what you have ordered, stays yours.">Sign in</PageTitle>
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
          <PendingButton>Sign in</PendingButton>
        </form>
      </Panel>
      <p className="mt-4 px-1 text-sm text-muted">
        The demo has two accounts: <Word>alice</Word> with the token <Word>demo-alice</Word>, and <Word>bob</Word> with{' '}
        <Word>demo-bob</Word>.
      </p>
    </div>
  );
}

function Word({ children }: { children: string }) {
  return <code className="rounded bg-sunken px-1 py-0.5 font-mono text-ink">{children}</code>;
}
