import type { PhaseView } from 'oncekit/admin';
import type { LinkedRow } from '../../../shop/admin/linked.ts';
import { Detail, Details } from '../../ui/details.tsx';
import { Moment } from '../shared/moment.tsx';
import { LinkedDetails } from './key-links.tsx';

interface Props {
  call: PhaseView;
  linked: readonly LinkedRow[];
  now: number;
}

/** Whose money is in doubt, how much, and since when: what a person needs before anything else. */
export function CallFacts({ call, linked, now }: Props) {
  const amounts = new Set(linked.flatMap(({ amount }) => amount ?? []));
  const customers = new Set(linked.flatMap(({ customer }) => customer ?? []));
  return (
    <Details>
      <LinkedDetails linked={linked} />
      {amounts.size > 0 ? (
        <Detail name="Amount">
          <strong className="text-lg font-semibold tabular-nums">{[...amounts].join(', ')}</strong>
        </Detail>
      ) : null}
      {customers.size > 0 ? <Detail name="Customer">{[...customers].join(', ')}</Detail> : null}
      <Detail name="Sent">
        {call.sends === 1 ? 'once' : `${call.sends} times`}
        {call.firstSentAt ? (
          <>
            {call.sends === 1 ? ', at ' : ', first at '}
            <Moment at={call.firstSentAt} now={now} precision="second" />
          </>
        ) : null}
        {call.notExecuted > 0 ? `; ${call.notExecuted} of them did nothing, the provider has said` : ''}
      </Detail>
    </Details>
  );
}
