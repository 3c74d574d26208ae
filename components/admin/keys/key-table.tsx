import type { KeySummary } from 'oncekit/admin';
import { Badge } from '../../ui/badge.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { keyHref } from '../shared/addresses.ts';
import { EndOf } from '../shared/end-of.tsx';
import { duration, isToSecond, ListedMoment } from '../shared/moment.tsx';
import { StateBadge } from './state-badge.tsx';

const columns = ['State', 'Operation', 'Key', 'Reason', 'Claimed', 'Took', 'Attempts', 'Principal'];

interface Props {
  rows: readonly KeySummary[];
  now: number;
  /** Not all keys are asked for. */
  isNarrowed: boolean;
  label?: string;
}

/** A page of keys. */
export function KeyTable({ rows, now, isNarrowed, label = 'Keys' }: Props) {
  if (rows.length === 0) {
    return (
      <Panel>
        <p className="text-muted">
          {isNarrowed ? 'No keys here fit that.' : 'No keys here yet. They appear with the first submitted form.'}
        </p>
      </Panel>
    );
  }
  return (
    <Table label={label} columns={columns} numbers={['Attempts']} isStacked>
      {rows.map((row) => (
        <Row
          key={`${row.tenant} ${row.principal} ${row.operation} ${row.key}`}
          className="max-sm:grid-cols-[max-content_minmax(0,1fr)] max-sm:*:not-nth-[-n+2]:col-span-2"
        >
          <Cell className="max-sm:flex-wrap">
            <StateBadge state={row.state} /> {row.needsAttention ? <Badge tone="warn">needs attention</Badge> : null}
          </Cell>
          <Cell className="max-w-44 max-sm:block" title={row.thing === null ? undefined : `once for ${row.thing}`}>
            {row.operation}
            {row.thing === null ? null : <span className="block min-w-0 truncate text-sm text-muted">{row.thing}</span>}
          </Cell>
          <Cell className="max-w-44 font-mono" title={row.key}>
            <TextLink href={keyHref(row)} prefetch={false} className="block min-w-0">
              <EndOf text={row.key} />
            </TextLink>
          </Cell>
          <Cell label="Reason" className={`max-w-40 ${reasonOf(row) === '–' ? 'max-sm:hidden!' : ''}`}>
            <span className="block min-w-0 truncate" title={reasonOf(row)}>
              {reasonOf(row)}
            </span>
          </Cell>
          <Cell label="Claimed">
            <ListedMoment at={row.claimedAt} now={now} />
          </Cell>
          <Cell label="Took" className="tabular-nums max-sm:hidden!">
            {tookOf(row, now)}
          </Cell>
          <Cell label="Attempts" className={`text-right tabular-nums ${row.attempts === 1 ? 'max-sm:hidden!' : ''}`}>
            {row.attempts}
          </Cell>
          <Cell label="Principal" className="max-w-32 max-sm:hidden!" title={`${row.tenant} / ${row.principal}`}>
            <span className="block min-w-0 truncate">{row.principal}</span>
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

/** Why it is as it is: what it was refused for, or the last step that an open one has behind it. */
function reasonOf({ reason, settledAt, recoveryPoint }: KeySummary): string {
  return reason ?? (settledAt === null && recoveryPoint ? `behind ${recoveryPoint}` : '–');
}

/** How long it has taken. A claim that is known to the second only says no more of one that was over within it. */
function tookOf({ claimedAt, settledAt, state }: KeySummary, now: number): string {
  if (state === 'abandoned') return '–';
  const ms = Math.max(0, (settledAt?.getTime() ?? now) - claimedAt.getTime());
  if (settledAt === null) return `${duration(ms)} so far`;
  return isToSecond(claimedAt) && ms < 1000 ? 'under 1 s' : duration(ms);
}
