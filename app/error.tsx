'use client';

import { ErrorPage } from '../components/form/error-page.tsx';

/** In place of a page that could not be shown: its data broke off on their way, or it could not be made. */
export default function BrokenPage() {
  return <ErrorPage />;
}
