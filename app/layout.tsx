import type { Metadata, Viewport } from 'next';
import type { ReactNode } from 'react';
import { RefusedAtTop } from '../components/shop/refused-at-top.tsx';
import { SiteFooter } from '../components/shop/site-footer.tsx';
import { SiteHeader } from '../components/shop/site-header.tsx';
import { refusedForm } from '../shop/session/refused-form.ts';
import { claimedSession } from '../shop/session/visitor.ts';
import './globals.css';
import { signOut } from './sign-in/actions.ts';

export * from './instant.ts';

export async function generateMetadata(): Promise<Metadata> {
  const refused = await refusedForm();
  const error = refused && !refused.isInDoubt ? 'Error: ' : '';
  return {
    title: { default: `${error}oncekit shop`, template: `${error}%s · oncekit shop` },
    description: 'A small shop in which every form submit happens once.',
  };
}

export const viewport: Viewport = { colorScheme: 'light dark' };

export default async function RootLayout({ children }: { children: ReactNode }) {
  const session = await claimedSession(); // for a name alone: a page without data needs no database
  const refused = await refusedForm();
  return (
    <html lang="en">
      <body className="flex min-h-dvh flex-col">
        <a href="#main" className="sr-only focus:not-sr-only focus:bg-surface focus:p-3">
          Skip to the content
        </a>
        <SiteHeader account={session?.account} signOut={signOut} />
        <main id="main" className="mx-auto w-full max-w-5xl flex-1 px-4 py-8 sm:px-6 sm:py-10">
          {refused ? <RefusedAtTop {...refused} /> : null}
          {children}
        </main>
        <SiteFooter />
      </body>
    </html>
  );
}
