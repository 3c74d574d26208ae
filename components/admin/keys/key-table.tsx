import type { KeySummary } from 'oncekit/admin';
import { Badge } from '../../ui/badge.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { keyHref } from '../shared/addresses.ts';
import { EndOf } from '../shared/end-of.tsx';
import { RelativeTime } from '../shared/relative-time.tsx';
import { StateBadge } from './state-badge.tsx';

const columns = ['State', 'Operation', 'Key', 'Principal', 'Claimed', 'Attempts', 'Expires'];

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
        <Row key={`${row.tenant} ${row.principal} ${row.operation} ${row.key}`}>
          <Cell>
            <StateBadge state={row.state} /> {row.needsAttention ? <Badge tone="warn">needs attention</Badge> : null}
          </Cell>
          <Cell label="Operation" className="max-w-44" title={row.thing === null ? undefined : `once for ${row.thing}`}>
            {row.operation}
            {row.thing === null ? null : <span className="block min-w-0 truncate text-sm text-muted">{row.thing}</span>}
          </Cell>
          <Cell label="Key" className="max-w-44 font-mono" title={row.key}>
            <TextLink href={keyHref(row)} prefetch={false} className="block min-w-0">
              <EndOf text={row.key} />
            </TextLink>
          </Cell>
          <Cell label="Principal" className="max-w-32" title={`${row.tenant} / ${row.principal}`}>
            <span className="block min-w-0 truncate">{row.principal}</span>
          </Cell>
          <Cell label="Claimed">
            <RelativeTime at={row.claimedAt} now={now} />
          </Cell>
          <Cell label="Attempts" className="text-right tabular-nums">
            {row.attempts}
          </Cell>
          <Cell label="Expires">
            <RelativeTime at={row.expiresAt} now={now} />
          </Cell>
        </Row>
      ))}
    </Table>
  );
}
