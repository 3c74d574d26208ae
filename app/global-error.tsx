'use client';

import { ErrorPage } from '../components/form/error-page.tsx';
import { Logo } from '../components/ui/logo.tsx';
import './globals.css';

/** As error.tsx, where not even the layout could be shown: so it has a document of its own. */
export default function GlobalErrorPage() {
  return (
    <html lang="en">
      <body className="flex min-h-dvh flex-col">
        <header className="border-b border-line bg-surface">
          <div className="mx-auto flex max-w-5xl px-4 py-1 sm:px-6 sm:py-2">
            <a href="/" className="inline-flex min-h-11 items-center gap-2 rounded-md font-semibold tracking-tight">
              <Logo className="size-7" />
              oncekit shop
            </a>
          </div>
        </header>
        <main className="mx-auto w-full max-w-5xl flex-1 px-4 py-8 sm:px-6 sm:py-10">
          <ErrorPage />
        </main>
      </body>
    </html>
  );
}
