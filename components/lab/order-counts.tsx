/** The counts in the database, not the forms' belief. */
export function OrderCounts({ counts }: { counts: { lab: number; plain: number } }) {
  return (
    <section aria-labelledby="counts-title" className="mt-8">
      <h2 id="counts-title" className="text-lg font-semibold">
        All your orders in the lab so far
      </h2>
      <dl className="mt-3 grid grid-cols-2 gap-6">
        <Count name="Without" value={counts.plain} source="plain" />
        <Count name="With oncekit" value={counts.lab} source="lab" />
      </dl>
    </section>
  );
}

function Count({ name, value, source }: { name: string; value: number; source: string }) {
  return (
    <div className="rounded-xl bg-sunken px-5 py-4">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="text-3xl font-semibold tabular-nums" data-count={source}>
        {value}
      </dd>
    </div>
  );
}
