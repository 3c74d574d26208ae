import Link from 'next/link';

const pages = [
  { href: '/', name: 'Shop' },
  { href: '/checkout', name: 'Cart' },
  { href: '/mailbox', name: 'Mail' },
  { href: '/lab', name: 'Lab' },
  { href: '/admin/keys', name: 'Admin' },
] as const;

const link =
  'inline-flex min-h-11 items-center rounded-md px-1.5 text-sm text-muted hover:text-ink sm:px-3 sm:text-base';

/** The header of every page: where to go, and who is signed in. */
export function SiteHeader({ account, signOut }: { account: string | undefined; signOut: () => Promise<void> }) {
  return (
    <header className="border-b border-line bg-surface">
      <div className="mx-auto flex max-w-5xl flex-wrap items-center justify-between gap-x-1 px-4 py-1 sm:gap-x-4 sm:px-6">
        <div className="flex items-center gap-x-2 sm:gap-x-3">
          <Link href="/" className="inline-flex min-h-11 items-center font-semibold tracking-tight">
            oncekit<span className="hidden sm:inline">&nbsp;shop</span>
          </Link>
          <nav aria-label="Main" className="-mx-1.5 flex sm:mx-0">
            {pages.map(({ href, name }) => (
              // Not prefetched: these pages are made per visitor, and issue keys.
              <Link key={href} href={href} prefetch={false} className={link}>
                {name}
              </Link>
            ))}
          </nav>
        </div>
        {account ? (
          <form action={signOut} className="flex items-center gap-x-1 text-sm">
            <span className="text-muted">
              <span className="max-sm:sr-only">Signed in as </span>
              <strong className="font-medium text-ink">{account}</strong>
            </span>
            <button type="submit" className={link}>
              Sign out
            </button>
          </form>
        ) : (
          <Link href="/sign-in" prefetch={false} className={`${link} -mx-1.5 sm:mx-0`}>
            Sign in
          </Link>
        )}
      </div>
    </header>
  );
}
