import type { ReactNode } from 'react';

interface Picture {
  ground: string;
  drawing: ReactNode;
}

const floor = <ellipse cx="80" cy="100" rx="46" ry="4.5" className="fill-shade" />;

/** Drawn, so that the shop needs no image files, and coloured by the tokens, so that they sit in both schemes. */
const pictures: Record<string, Picture> = {
  mug: {
    ground: 'bg-cobalt/15 dark:bg-cobalt/20',
    drawing: (
      <>
        {floor}
        <path d="M68 26c-5-5 5-8 0-14M82 26c-5-5 5-8 0-14" className="stroke-enamel stroke-3 opacity-80" />
        <path d="M103 52h7a12 12 0 0 1 0 24h-9" className="stroke-enamel stroke-[7]" />
        <path d="M52 36h52v44a18 18 0 0 1-18 18H70a18 18 0 0 1-18-18z" className="fill-enamel" />
        <path d="M90 36h14v44a18 18 0 0 1-18 18h-6c7-4 10-10 10-18z" className="fill-shade" />
        <rect x="49" y="33" width="58" height="7" rx="3.5" className="fill-cobalt" />
        <path d="M61 49v24" className="stroke-cobalt stroke-2 opacity-20" />
      </>
    ),
  },
  lamp: {
    ground: 'bg-glow/30 dark:bg-brass/15',
    drawing: (
      <>
        <ellipse cx="58" cy="101" rx="34" ry="4.5" className="fill-shade" />
        <path d="M83 47l38 13 13 40H70z" className="fill-glow opacity-45" />
        <ellipse cx="102" cy="100" rx="32" ry="6" className="fill-glow" />
        <rect x="34" y="95" width="48" height="7" rx="3.5" className="fill-brass" />
        <path d="M58 95V76L42 52l38-28" className="stroke-brass stroke-[5]" />
        <circle cx="42" cy="52" r="5" className="fill-leather" />
        <circle cx="58" cy="76" r="4" className="fill-leather" />
        <path d="M80 18a7 7 0 0 1 9-4l16 6a7 7 0 0 1 4 8l15 33-42-15z" className="fill-brass" />
        <path d="M109 28l15 33-12-4-11-33a7 7 0 0 1 8 4z" className="fill-shade" />
      </>
    ),
  },
  notebook: {
    ground: 'bg-linen/20 dark:bg-linen/15',
    drawing: (
      <>
        <path d="M46 102h66l8-5H54z" className="fill-shade" />
        <path d="M56 22h56a5 5 0 0 1 5 5v70H56z" className="fill-enamel" />
        <path d="M112 28v67" className="stroke-shade stroke-1" />
        <path d="M50 18h55a5 5 0 0 1 5 5v70a5 5 0 0 1-5 5H50a4 4 0 0 1-4-4V22a4 4 0 0 1 4-4z" className="fill-linen" />
        <path d="M50 18h7v80h-7a4 4 0 0 1-4-4V22a4 4 0 0 1 4-4z" className="fill-shade" />
        <rect x="65" y="34" width="28" height="18" rx="2" className="fill-enamel" />
        <path d="M70 41h18M70 46h11" className="stroke-linen stroke-2" />
        <path d="M101 18v80" className="stroke-leather stroke-4" />
        <path d="M78 98v9l3-3 4 3v-9z" className="fill-leather" />
      </>
    ),
  },
  tote: {
    ground: 'bg-canvas/35 dark:bg-leather/20',
    drawing: (
      <>
        {floor}
        <path d="M62 44V30a18 18 0 0 1 36 0v14" className="stroke-leather stroke-4" />
        <path d="M48 42h64l7 54a4 4 0 0 1-4 4H45a4 4 0 0 1-4-4z" className="fill-canvas" />
        <path d="M102 42h10l7 54a4 4 0 0 1-4 4h-9z" className="fill-shade" />
        <path d="M62 44v12M98 44v12" className="stroke-leather stroke-4" />
        <circle cx="79" cy="77" r="13" className="fill-accent" />
        <path d="M76 73l4-3v14" className="stroke-on-accent stroke-3" />
      </>
    ),
  },
};

/** Goods that nobody has drawn. */
const parcel: Picture = {
  ground: 'bg-sunken',
  drawing: (
    <>
      {floor}
      <path d="M44 44l36-14 36 14v40L80 100 44 84z" className="fill-canvas" />
      <path d="M80 58l36-14v40L80 100z" className="fill-shade" />
      <path d="M62 37l36 14v16" className="stroke-leather stroke-4" />
    </>
  ),
};

/** A picture of the product, as large as `className` says. The name stands beside it, so that it has no text of its own. */
export function ProductPicture({ sku, className }: { sku: string; className: string }) {
  const { ground, drawing } = pictures[sku] ?? parcel;
  return (
    <svg
      viewBox="16 4 128 112"
      className={`fill-none ${ground} ${className}`}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {drawing}
    </svg>
  );
}
