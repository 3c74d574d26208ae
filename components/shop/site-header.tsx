import Link from 'next/link';
import { Logo } from '../ui/logo.tsx';
import { NavLink } from './nav-link.tsx';
import { OutsideAdmin } from './outside-admin.tsx';

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
      <div className="mx-auto flex max-w-5xl flex-wrap items-center justify-between gap-x-1 px-4 py-1 sm:gap-x-4 sm:px-6 sm:py-2">
        <div className="flex items-center gap-x-2 sm:gap-x-4">
          <Link href="/" className="inline-flex min-h-11 items-center gap-2 rounded-md font-semibold tracking-tight">
            <Logo className="size-7" />
            <span className="max-sm:sr-only">oncekit shop</span>
          </Link>
          <nav aria-label="Main" className="-mx-1.5 flex sm:mx-0">
            {pages.map(({ href, name }) => (
              <NavLink key={href} href={href} name={name} className={link} />
            ))}
          </nav>
        </div>
        <OutsideAdmin>
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
            <NavLink href="/sign-in" name="Sign in" className={`${link} -mx-1.5 sm:mx-0`} />
          )}
        </OutsideAdmin>
      </div>
    </header>
  );
}
