import type { KeySummary } from 'oncekit/admin';
import { Badge } from '../ui/badge.tsx';
import { Panel } from '../ui/panel.tsx';
import { Cell, Table } from '../ui/table.tsx';
import { TextLink } from '../ui/text-link.tsx';
import { keyHref } from './addresses.ts';
import { RelativeTime } from './relative-time.tsx';
import { StateBadge } from './state-badge.tsx';

const columns = ['State', 'Operation', 'Key', 'Principal', 'Claimed', 'Attempts', 'Expires'];

interface Props {
  rows: readonly KeySummary[];
  now: number;
  /** Not all keys are asked for. */
  isNarrowed: boolean;
}

/** A page of keys. A key is cut by its width alone: selecting it copies all of it. */
export function KeyTable({ rows, now, isNarrowed }: Props) {
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
    <Table label="Keys" columns={columns} numbers={['Attempts']}>
      {rows.map((row) => (
        <tr key={`${row.tenant} ${row.principal} ${row.operation} ${row.key}`}>
          <Cell>
            <StateBadge state={row.state} /> {row.needsAttention ? <Badge tone="warn">needs attention</Badge> : null}
          </Cell>
          <Cell>{row.operation}</Cell>
          <Cell className="max-w-56 truncate font-mono" title={row.key}>
            <TextLink href={keyHref(row)} prefetch={false}>
              {row.key}
            </TextLink>
          </Cell>
          <Cell className="max-w-40 truncate" title={`${row.tenant} / ${row.principal}`}>
            {row.principal}
          </Cell>
          <Cell>
            <RelativeTime at={row.claimedAt} now={now} />
          </Cell>
          <Cell className="text-right tabular-nums">{row.attempts}</Cell>
          <Cell>
            <RelativeTime at={row.expiresAt} now={now} />
          </Cell>
        </tr>
      ))}
    </Table>
  );
}
