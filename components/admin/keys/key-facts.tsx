import type { KeyDetail } from 'oncekit/admin';
import { Badge } from '../../ui/badge.tsx';
import { CopyText } from '../../ui/copy-text.tsx';
import { Detail, Details } from '../../ui/details.tsx';
import { Panel } from '../../ui/panel.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { withQuery } from '../shared/addresses.ts';
import { isToSecond, Moment, utc } from '../shared/moment.tsx';
import { AnsweredAgain } from './answered-again.tsx';
import { LeaseCountdown } from './lease-countdown.tsx';
import { StateBadge } from './state-badge.tsx';

interface Props {
  detail: KeyDetail;
  now: number;
}

export function KeyFacts({ detail, now }: Props) {
  const { tenant, principal, thing, mintedAt, claimedAt } = detail;
  // A claim that is known to the second is not to stand before the minting that it follows.
  const precision = isToSecond(claimedAt) ? 'second' : 'ms';
  const time = (at: Date | null) => <Moment at={at} now={now} />;
  const isWaiting = detail.needsAttention && detail.nextAttemptAt === null && detail.settledAt === null;
  return (
    <Panel aria-label="Key">
      <Details>
        <Detail name="State">
          <StateBadge state={detail.state} />{' '}
          {detail.needsAttention ? <Badge tone="warn">needs attention</Badge> : null}
        </Detail>
        <Detail name="Key">
          <CopyText text={detail.key} name="the key" />
        </Detail>
        <Detail name="Tenant">{detail.tenant}</Detail>
        <Detail name="Principal">
          <TextLink href={withQuery('/admin/keys', { tenant, principal })} prefetch={false} className="break-all">
            {principal}
          </TextLink>
        </Detail>
        <Detail name="Operation">{detail.operation}</Detail>
        {thing === null ? null : (
          <Detail name="Once for">
            <TextLink href={withQuery('/admin/keys', { tenant, thing })} prefetch={false} className="break-all">
              {thing}
            </TextLink>
          </Detail>
        )}
        <Detail name="Attempts">{detail.attempts}</Detail>
        <Detail name="Fencing token">{detail.fencingToken}</Detail>
        <Detail name="Recovery point">{detail.recoveryPoint ?? '–'}</Detail>
        <Detail name="Lease">
          {detail.leaseUntil ? (
            <>
              <LeaseCountdown key={now} until={detail.leaseUntil.getTime()} now={now} />
              <span className="text-muted tabular-nums"> (until {utc(detail.leaseUntil)})</span>
            </>
          ) : (
            '–'
          )}
        </Detail>
        <Detail name="Next attempt">{isWaiting ? 'when a person asks for it' : time(detail.nextAttemptAt)}</Detail>
        <Detail name="Fingerprint">
          {detail.fingerprintPrefix ? (
            <code className="font-mono text-sm">{detail.fingerprintPrefix}…</code>
          ) : (
            'none: nothing was sent'
          )}
        </Detail>
        <AnsweredAgain events={detail.events} now={now} />
        <Detail name="Schema version">{detail.schemaVersion}</Detail>
        <Detail name="Minted">
          {mintedAt ? <Moment at={mintedAt} now={now} precision={precision} /> : 'not by this app'}
        </Detail>
        <Detail name="Claimed">
          <Moment at={claimedAt} now={now} precision={precision} />
        </Detail>
        <Detail name="Settled">{time(detail.settledAt)}</Detail>
        <Detail name="Expires">{time(detail.expiresAt)}</Detail>
      </Details>
    </Panel>
  );
}
