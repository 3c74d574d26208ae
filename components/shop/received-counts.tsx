interface Counts {
  events: number;
  deliveries: number;
  effects: number;
}

/** How often the receiver was told, and how often that took effect. */
export function ReceivedCounts({ counts: { events, deliveries, effects } }: { counts: Counts }) {
  return (
    <dl className="mb-6 grid grid-cols-2 gap-3 sm:grid-cols-4">
      <Count name="Events" value={events} />
      <Count name="Deliveries" value={deliveries} />
      <Count name="Duplicates" value={deliveries - events} />
      <Count name="Effects" value={effects} />
    </dl>
  );
}

function Count({ name, value }: { name: string; value: number }) {
  return (
    <div className="rounded-xl border border-line bg-surface px-4 py-3">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="text-2xl font-semibold tabular-nums" data-count={name.toLowerCase()}>
        {value.toLocaleString('en-US')}
      </dd>
    </div>
  );
}
