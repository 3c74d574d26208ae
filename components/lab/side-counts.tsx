import type { Side } from '../../shop/lab/crash.ts';

/** Null: nobody has counted yet. */
export interface SideNumbers {
  clicks: number | null;
  requests: number | null;
  orders: number | null;
  charges: number | null;
}

/** The submits, and the rows and charges that came of them. One intent was meant: more than one order or charge is a fault. */
export function SideCounts({ side, numbers }: { side: Side; numbers: SideNumbers }) {
  return (
    <dl className="mb-5 grid grid-cols-2 gap-2 sm:grid-cols-4">
      {(['clicks', 'requests', 'orders', 'charges'] as const).map((name) => (
        <div key={name} className={`rounded-lg px-3 py-2 ${surface(name, numbers[name])}`}>
          <dt className="text-sm capitalize">{name}</dt>
          <dd className="text-2xl font-semibold tabular-nums" data-count={`${side}-${name}`}>
            {numbers[name] === null ? <span title="Not counted yet">–</span> : numbers[name].toLocaleString('en-US')}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function surface(name: keyof SideNumbers, value: number | null): string {
  const isEffect = name === 'orders' || name === 'charges';
  if (!isEffect || !value) return 'bg-sunken text-ink';
  return value === 1 ? 'bg-good-surface text-good' : 'bg-bad-surface text-bad';
}
