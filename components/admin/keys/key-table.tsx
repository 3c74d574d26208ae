import type { KeySummary } from 'oncekit/admin';
import { Badge } from '../../ui/badge.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { keyHref } from '../shared/addresses.ts';
import { EndOf } from '../shared/end-of.tsx';
import { duration, isToSecond, ListedMoment } from '../shared/moment.tsx';
import { StateBadge } from './state-badge.tsx';

const columns = ['State', 'Operation', 'Key and principal', 'Reason, reference', 'Claimed', 'Took'];

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
    <Table label={label} columns={columns} isStacked>
      {rows.map((row) => (
        <Row
          key={`${row.tenant} ${row.principal} ${row.operation} ${row.key}`}
          className="max-sm:grid-cols-[minmax(0,max-content)_minmax(8rem,1fr)] max-sm:*:not-nth-[-n+2]:col-span-2"
        >
          <Cell className="max-sm:flex-wrap sm:max-w-40 sm:whitespace-normal!">
            <StateBadge state={row.state} /> {row.needsAttention ? <Badge tone="warn">needs attention</Badge> : null}
          </Cell>
          <Cell
            className="max-w-40 overflow-hidden text-ellipsis max-sm:block!"
            title={row.thing === null ? undefined : `once for ${row.thing}`}
          >
            {row.operation}
            {row.thing === null ? null : <span className="block min-w-0 truncate text-sm text-muted">{row.thing}</span>}
          </Cell>
          <Cell className="max-w-40 max-sm:block!">
            <TextLink href={keyHref(row)} prefetch={false} title={row.key} className="block min-w-0 font-mono">
              <EndOf text={row.key} />
            </TextLink>
            <span className="block min-w-0 truncate text-muted" title={`${row.tenant} / ${row.principal}`}>
              {row.principal}
            </span>
          </Cell>
          <Cell
            label={reasonOf(row) ? 'Reason' : 'Reference'}
            className={`max-w-36 ${reasonOf(row) || row.reference ? '' : 'max-sm:hidden!'}`}
          >
            <span className="min-w-0 whitespace-normal">
              <span className="block break-words">{reasonOf(row) ?? (row.reference ? null : '–')}</span>
              {row.reference ? (
                <span className="block font-mono" title={row.reference}>
                  <EndOf text={row.reference} />
                </span>
              ) : null}
            </span>
          </Cell>
          <Cell label="Claimed">
            <ListedMoment at={row.claimedAt} now={now} />
          </Cell>
          <Cell label="Took" className={`tabular-nums ${row.attempts === 1 ? 'max-sm:hidden!' : ''}`}>
            {tookOf(row, now)}
            <span className="block text-muted">{row.attempts === 1 ? '1 attempt' : `${row.attempts} attempts`}</span>
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

/** Why it is as it is: what it was refused for, or the last step that an open one has behind it. */
function reasonOf({ reason, settledAt, recoveryPoint }: KeySummary): string | null {
  return reason ?? (settledAt === null && recoveryPoint ? `behind ${recoveryPoint}` : null);
}

/** How long it has taken. A claim that is known to the second only says no more of one that was over within it. */
function tookOf({ claimedAt, settledAt, state }: KeySummary, now: number): string {
  if (state === 'abandoned') return '–';
  const ms = Math.max(0, (settledAt?.getTime() ?? now) - claimedAt.getTime());
  if (settledAt === null) return `${duration(ms)} so far`;
  return isToSecond(claimedAt) && ms < 1000 ? 'under 1 s' : duration(ms);
}
