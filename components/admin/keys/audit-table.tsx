import type { AuditRecord } from 'oncekit/admin';
import { Panel } from '../../ui/panel.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { keyHref } from '../shared/addresses.ts';
import { EndOf } from '../shared/end-of.tsx';
import { ListedMoment } from '../shared/moment.tsx';

const columns = ['When', 'Who', 'What', 'Principal', 'Key', 'Particulars'];

/** Names what people do, by the types of its records. */
export const auditWords: Record<string, string> = {
  verdict: 'Said what happened at the provider',
  retry: 'Had it taken up again',
  released: 'Took it from its executor',
  fenced: 'Gave it up for good',
  forgotten: 'Erased what was stored of it',
  acknowledged: 'Said that they have seen to it',
  erased: 'Erased what was stored of a person',
  reconciled: 'Entered what the outside knows of it',
  payment_refunded: 'Gave back a payment that nobody expected',
  payment_seen_to: 'Saw to money that nobody expected',
  signed_in: 'Signed in',
  sign_in_failed: 'Failed to sign in',
  signed_out: 'Signed out',
};

/** Shows what people did, newest first. A newer version, or the app, may have written other types. */
export function AuditTable({ rows, now }: { rows: readonly AuditRecord[]; now: number }) {
  if (rows.length === 0) {
    return (
      <Panel>
        <p className="text-muted">Nobody has done that here.</p>
      </Panel>
    );
  }
  return (
    <Table label="What people did" columns={columns} isStacked>
      {rows.map(({ at, actor, type, detail, ...of }, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two things may be done in one millisecond
        <Row key={n}>
          <Cell>
            <ListedMoment at={at} now={now} />
          </Cell>
          <Cell label="Who" className="max-w-32" title={actor}>
            <span className="block min-w-0 truncate">{actor}</span>
          </Cell>
          <Cell label="What" className="max-w-52 whitespace-normal!">
            {auditWords[type] ?? type}
          </Cell>
          <Cell label="Principal" className="max-w-40" title={`${of.tenant} / ${of.principal}`}>
            <span className="block min-w-0 truncate">{of.principal || '–'}</span>
          </Cell>
          <Cell label="Key" className="max-w-48 font-mono" title={of.key}>
            {of.key ? (
              <TextLink href={keyHref(of)} prefetch={false} className="block min-w-0">
                <EndOf text={of.key} />
              </TextLink>
            ) : (
              '–'
            )}
          </Cell>
          <Cell className="min-w-36 break-words whitespace-normal! text-muted">{particulars(detail)}</Cell>
        </Row>
      ))}
    </Table>
  );
}

function particulars(detail: AuditRecord['detail']): string {
  return Object.entries(detail ?? {})
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}
