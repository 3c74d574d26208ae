import Link from 'next/link';
import { Button } from '../ui/button.tsx';

const pages = [
  { name: 'keys', href: '/admin/keys', label: 'Keys' },
  { name: 'messages', href: '/admin/messages', label: 'Messages' },
] as const;

interface Props {
  current: (typeof pages)[number]['name'];
  signOut: () => Promise<void>;
}

/** Where one is in the admin view, and the way out of it. */
export function AdminHeader({ current, signOut }: Props) {
  return (
    <div className="mb-6 flex items-end justify-between gap-4 border-b border-line sm:mb-8">
      <nav aria-label="Admin">
        <ul className="flex gap-2">
          {pages.map(({ name, href, label }) => (
            <li key={name}>
              <Link
                href={href}
                prefetch={false}
                aria-current={name === current ? 'page' : undefined}
                className="-mb-px inline-flex min-h-11 items-center border-b-2 border-transparent px-3 font-medium text-muted hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink"
              >
                {label}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <form action={signOut} className="pb-2">
        <Button variant="quiet">Sign out</Button>
      </form>
    </div>
  );
}
