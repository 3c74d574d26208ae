/** The count in the database, not the form's belief. */
export function OrderCount({ count, from = 'this form' }: { count: number; from?: string }) {
  return (
    <dl className="rounded-xl bg-sunken px-5 py-4">
      <dt className="text-sm text-muted">Orders from {from} in the database</dt>
      <dd className="text-3xl font-semibold tabular-nums" data-count="example">
        {count}
      </dd>
    </dl>
  );
}
