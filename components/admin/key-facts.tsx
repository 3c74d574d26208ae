import type { KeyDetail } from 'oncekit/admin';
import { Badge } from '../ui/badge.tsx';
import { Detail, Details } from '../ui/details.tsx';
import { formatCents } from '../ui/money.ts';
import { Panel } from '../ui/panel.tsx';
import { TextLink } from '../ui/text-link.tsx';
import { Moment } from './moment.tsx';
import { StateBadge } from './state-badge.tsx';

interface Props {
  detail: KeyDetail;
  order: { id: string; status: string; amountCents: number } | null;
  now: number;
}

export function KeyFacts({ detail, order, now }: Props) {
  const time = (at: Date | null) => <Moment at={at} now={now} />;
  const isWaiting = detail.needsAttention && detail.nextAttemptAt === null;
  return (
    <Panel aria-label="Key">
      <Details>
        <Detail name="State">
          <StateBadge state={detail.state} />{' '}
          {detail.needsAttention ? <Badge tone="warn">needs attention</Badge> : null}
        </Detail>
        <Detail name="Key">
          <code className="font-mono text-sm break-all select-all">{detail.key}</code>
        </Detail>
        <Detail name="Tenant">{detail.tenant}</Detail>
        <Detail name="Principal">
          <span className="break-all">{detail.principal}</span>
        </Detail>
        <Detail name="Operation">{detail.operation}</Detail>
        <Detail name="Order">
          {order ? (
            <TextLink href={`/orders/${order.id}`} className="break-all">
              {order.id} ({order.status}, {formatCents(order.amountCents)})
            </TextLink>
          ) : (
            'none'
          )}
        </Detail>
        <Detail name="Attempts">{detail.attempts}</Detail>
        <Detail name="Fencing token">{detail.fencingToken}</Detail>
        <Detail name="Recovery point">{detail.recoveryPoint ?? '–'}</Detail>
        <Detail name="Lease until">{time(detail.leaseUntil)}</Detail>
        <Detail name="Next attempt">{isWaiting ? 'when a person asks for it' : time(detail.nextAttemptAt)}</Detail>
        <Detail name="Fingerprint">
          {detail.fingerprintPrefix ? (
            <code className="font-mono text-sm">{detail.fingerprintPrefix}…</code>
          ) : (
            'none: nothing was sent'
          )}
        </Detail>
        <Detail name="Schema version">{detail.schemaVersion}</Detail>
        <Detail name="Minted">{detail.mintedAt ? time(detail.mintedAt) : 'not by this app'}</Detail>
        <Detail name="Claimed">{time(detail.claimedAt)}</Detail>
        <Detail name="Settled">{time(detail.settledAt)}</Detail>
        <Detail name="Expires">{time(detail.expiresAt)}</Detail>
      </Details>
    </Panel>
  );
}
