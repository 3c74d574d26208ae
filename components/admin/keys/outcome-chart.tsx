import type { OutcomeBucket } from 'oncekit/admin';
import type { KeysQuery } from '../../../shop/admin/query.ts';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { TitledPanel } from '../../ui/titled-panel.tsx';
import { toMinute, withQuery } from '../shared/addresses.ts';
import { type Column, columnsOf, STEP_MS, series } from './outcome-series.ts';

interface Props {
  buckets: readonly OutcomeBucket[];
  since: Date;
  now: number;
  /** Names the filters: the chart is of its operation, where it names one, and so are the lists that its bars lead to. */
  query: KeysQuery;
}

const HEIGHT = 120;
const STEP = 20;

/** How calls have ended, in columns of ten minutes. The same numbers stand in a table. */
export function OutcomeChart({ buckets, since, now, query }: Props) {
  const { operation } = query;
  const shown = operation ? buckets.filter((bucket) => bucket.operation === operation) : buckets;
  const columns = columnsOf(shown, since, now);
  const hours = Math.round((now - since.getTime()) / 3_600_000);
  const most = Math.max(...columns.map(({ total }) => total));
  return (
    <TitledPanel title={`Calls in the last ${hours} hours`}>
      {operation ? <p className="mt-1 text-sm text-muted">Only those of {operation}.</p> : null}
      {most === 0 ? (
        <p className="mt-2 text-muted">None. A call shows up here about ten seconds after it has ended.</p>
      ) : (
        <>
          <Legend columns={columns} />
          <Bars columns={columns} most={most} query={query} />
          <p className="mt-2 max-w-prose text-sm text-muted">
            A bar counts calls, in the ten minutes in which they ended. It leads to the keys that were claimed in them,
            or in the minute before. Calls that were replayed, refused or broken off may be of older keys, and lead
            nowhere.
          </p>
          <details className="mt-3">
            <summary className="cursor-pointer py-2 text-sm font-medium text-accent">As a table</summary>
            <Numbers columns={columns} query={query} />
          </details>
        </>
      )}
    </TitledPanel>
  );
}

function Legend({ columns }: { columns: readonly Column[] }) {
  return (
    <ul className="mt-3 flex flex-wrap gap-x-5 gap-y-1 text-sm">
      {series.map(({ name, label, dot }) => (
        <li key={name} className="flex items-center gap-2">
          <span aria-hidden="true" className={`size-3 rounded-sm ${dot}`} />
          {label}
          <span className="font-medium tabular-nums" data-count={`chart-${name}`}>
            {columns.reduce((sum, { counts }) => sum + counts[name], 0).toLocaleString('en-US')}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Bars({ columns, most, query }: Shown & { most: number }) {
  const width = columns.length * STEP;
  const [first, last] = [columns[0], columns.at(-1)];
  return (
    <div className="mt-3">
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        aria-hidden="true"
        className="block h-32 w-full border-b border-strong-line"
      >
        {columns.map((column, n) => (
          <Bar key={column.at.getTime()} column={column} query={query} x={n * STEP} scale={HEIGHT / most} />
        ))}
      </svg>
      <p className="mt-1 flex justify-between text-xs text-muted tabular-nums">
        <span>{first ? clock(first.at) : null}</span>
        <span>at most {most.toLocaleString('en-US')} in ten minutes</span>
        <span>{last ? clock(last.at) : null} UTC</span>
      </p>
    </div>
  );
}

function Bar({ column, query, x, scale }: { column: Column; query: KeysQuery; x: number; scale: number }) {
  return (
    <g>
      {series.map(({ name, label, fill, keys }, n) => {
        const height = column.counts[name] * scale;
        const below = series.slice(0, n).reduce((sum, one) => sum + column.counts[one.name], 0) * scale;
        if (height === 0) return null;
        const bar = (
          <>
            <title>{`${clock(column.at)} UTC: ${column.counts[name]} ${label}`}</title>
            <rect x={x + 2} y={HEIGHT - below - height} width={STEP - 4} height={height} className={fill} />
          </>
        );
        if (!keys) return <g key={name}>{bar}</g>;
        return (
          // The table leads a keyboard and a screen reader to the same places.
          <a key={name} href={keysOf(column, keys, query)} tabIndex={-1}>
            {bar}
          </a>
        );
      })}
    </g>
  );
}

function Numbers({ columns, query }: Shown) {
  const names = series.map(({ label }) => label);
  return (
    <Table label="Calls" columns={['Ten minutes from', ...names]} numbers={names}>
      {columns
        .filter(({ total }) => total > 0)
        .map((column) => (
          <Row key={column.at.getTime()}>
            <Cell className="tabular-nums">
              <TextLink href={keysOf(column, {}, query)} prefetch={false}>
                {clock(column.at)} UTC
              </TextLink>
            </Cell>
            {series.map(({ name, label, keys }) => (
              <Cell key={name} className="text-right tabular-nums">
                {keys && column.counts[name] > 0 ? (
                  <TextLink href={keysOf(column, keys, query)} prefetch={false}>
                    {column.counts[name].toLocaleString('en-US')}
                    <span className="sr-only"> {label}</span>
                  </TextLink>
                ) : (
                  column.counts[name].toLocaleString('en-US')
                )}
              </Cell>
            ))}
          </Row>
        ))}
    </Table>
  );
}

interface Shown {
  columns: readonly Column[];
  query: KeysQuery;
}

/** The list of keys that the calls of a column are of: one that has ended in it was claimed then, or shortly before. */
function keysOf({ at }: Column, keys: Pick<KeysQuery, 'state'>, { operation }: KeysQuery): string {
  const [from, to] = [at.getTime() - 60_000, at.getTime() + STEP_MS].map((time) => toMinute(new Date(time)));
  return withQuery('/admin/keys', { ...keys, operation, from, to });
}

function clock(at: Date): string {
  return at.toISOString().slice(11, 16);
}
