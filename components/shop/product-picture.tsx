import type { ReactNode } from 'react';

/** Line drawings, so that the shop needs no image files. */
const drawings: Record<string, ReactNode> = {
  mug: (
    <>
      <path d="M38 30h38v36a10 10 0 0 1-10 10H48a10 10 0 0 1-10-10z" />
      <path d="M76 40h8a9 9 0 0 1 0 20h-8M38 37h38" />
    </>
  ),
  lamp: (
    <>
      <path d="M44 82h32M60 82V62L44 46l18-18" />
      <path d="M56 22l24 12-16 12z" />
      <path d="M74 46l6 10M82 42l8 6" />
    </>
  ),
  notebook: (
    <>
      <path d="M40 22h38a4 4 0 0 1 4 4v52a4 4 0 0 1-4 4H40z" />
      <path d="M40 22v60M50 36h20M50 46h20M50 56h12" />
    </>
  ),
  tote: (
    <>
      <path d="M36 42h48l4 40H32z" />
      <path d="M48 50V32a12 12 0 0 1 24 0v18" />
    </>
  ),
};

export function ProductPicture({ sku }: { sku: string }) {
  return (
    <svg
      viewBox="0 10 120 82"
      className="h-40 w-full bg-sunken fill-transparent stroke-accent stroke-2"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {drawings[sku] ?? <path d="M40 34l20-10 20 10v26L60 72 40 60zM40 34l20 10 20-10M60 44v28" />}
    </svg>
  );
}
