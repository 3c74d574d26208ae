import { TextLink } from '../ui/text-link.tsx';

const pages = [
  { href: '/docs', name: 'Docs' },
  { href: '/examples', name: 'Examples' },
  { href: '/receiver', name: 'Receiver' },
] as const;

/** The foot of every page: what this is, and the pages for those who build with it. */
export function SiteFooter() {
  return (
    <footer className="border-t border-line py-6 text-sm text-muted">
      <div className="mx-auto flex max-w-5xl flex-wrap items-center justify-between gap-x-8 gap-y-3 px-4 sm:px-6">
        <p>A demo of oncekit: one intent, one effect, one answer. Nothing here is for sale.</p>
        <nav aria-label="More" className="flex gap-5">
          {pages.map(({ href, name }) => (
            <TextLink key={href} href={href} prefetch={false} className="inline-flex min-h-8 items-center">
              {name}
            </TextLink>
          ))}
        </nav>
      </div>
    </footer>
  );
}
