'use client';

import { useRouter } from 'next/navigation';
import { type SubmitAction, useIdempotentSubmit } from 'oncekit/react';
import { type ReactNode, useEffect, useRef } from 'react';
import type { Side } from '../../shop/lab/crash.ts';
import type { PlainResult } from '../../shop/lab/order.ts';
import type { Preset } from '../../shop/lab/presets.ts';
import type { LabReport } from '../../shop/lab/report.ts';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import { Panel } from '../ui/panel.tsx';
import { TitledPanel } from '../ui/titled-panel.tsx';
import type { Choice } from './goods-fields.tsx';
import { stepOf } from './lab-memory.ts';
import { OrderForm } from './order-form.tsx';
import { PlainForm } from './plain-form.tsx';
import { arrived } from './proxy-client.ts';
import { SideCounts, type SideNumbers } from './side-counts.tsx';
import { StartPanel } from './start-panel.tsx';
import { TimelineView } from './timeline.tsx';
import { useLabRun } from './use-lab-run.ts';
import { usePlainOrder } from './use-plain-order.ts';
import { usePlay } from './use-play.ts';

interface Props {
  preset: Preset;
  /** The address of this page, to which the forms come back. */
  path: string;
  /** The same page behind the fault proxy, for who has not come that way. */
  elsewhere: string | null;
  products: readonly Choice[];
  intent: string;
  initialKey: string;
  actions: {
    kit: SubmitAction<PlacedOrder>;
    plain: (previous: PlainResult | null, form: FormData) => Promise<PlainResult>;
  };
  run: string | null;
  report: LabReport | null;
}

/** For who plays by hand there is time. */
const QUIET_MS = { played: 1500, byHand: 60_000 };

/** The two columns, one button that plays both, and what has come of it. */
export function LabBoard({
  preset,
  path,
  elsewhere,
  products,
  intent,
  initialKey,
  actions,
  run: begun,
  report,
}: Props) {
  const isBusy = useRef<() => boolean>(() => false);
  const lab = useLabRun({
    begun,
    rendered: report,
    quietMs: preset.byHand ? QUIET_MS.byHand : QUIET_MS.played,
    isBusy: () => isBusy.current(),
  });
  const submit = useIdempotentSubmit(actions.kit, {
    intent,
    initialKey,
    storage: preset.isShared ? 'local' : 'session',
    onTransition: (transition) => lab.note(stepOf(transition)),
  });
  const plain = usePlainOrder((to) => lab.note({ at: Date.now(), kind: 'step', side: 'without', to }));
  const columns = { with: useRef<HTMLDivElement>(null), without: useRef<HTMLDivElement>(null) };
  const { start, isPlaying, isStarting, problem } = usePlay({ preset, lab, submit, plain, columns });
  // The plain column has no action that would have the page count anew. Not under the hands of who plays: a page that is made behind
  // the end of what was sent begins anew, in this tab before it has ordered.
  const { refresh } = useRouter();
  const isOver = lab.isFinal && !preset.byHand;
  useEffect(() => {
    if (isOver) refresh();
  }, [isOver, refresh]);
  isBusy.current = () => isPlaying() || submit.isPending || plain.now() === 'waiting';

  const isOwnPage = path !== '/lab';
  const numbers = (side: Side): SideNumbers => ({
    clicks:
      lab.run && lab.events ? lab.events.filter((each) => each.kind === 'click' && each.side === side).length : null,
    requests: lab.run && lab.seen ? arrived(side, lab.seen) : null,
    orders: lab.report?.[side].orders.length ?? null,
    charges: lab.report?.[side].charges?.length ?? null,
  });
  /** Without the proxy nothing can be started, so nothing is counted either. */
  const canStart = elsewhere === null && problem !== 'no-proxy';
  const known = { events: lab.events ?? [], seen: lab.seen ?? [], report: lab.report };
  const column = (side: Side, title: string, form: ReactNode) => (
    <Panel aria-labelledby={`${side}-title`} className="min-w-0">
      <h2 id={`${side}-title`} className="mb-3 text-lg font-semibold">
        {title}
      </h2>
      {canStart ? <SideCounts side={side} numbers={numbers(side)} /> : null}
      <div
        ref={columns[side]}
        onClickCapture={({ target }) => {
          if (target instanceof Element && target.closest('button[type=submit]'))
            lab.note({ at: Date.now(), kind: 'click', side });
        }}
      >
        {form}
      </div>
    </Panel>
  );
  return (
    <>
      <StartPanel
        preset={preset}
        elsewhere={elsewhere}
        onStart={start}
        isRunning={isStarting || (lab.run !== null && lab.events !== null && lab.events.length > 0 && !lab.isFinal)}
        problem={problem}
        verdict={lab.run && lab.isFinal ? { with: numbers('with'), without: numbers('without') } : null}
      />
      <div className="grid gap-6 md:grid-cols-2">
        {column(
          'without',
          'Without',
          <PlainForm
            action={actions.plain}
            products={products}
            order={plain}
            isPlayed={() => isOwnPage || lab.isBegun()}
            preset={isOwnPage ? preset.slug : null}
          />,
        )}
        {column(
          'with',
          'With oncekit',
          <OrderForm submit={submit} products={products} href={path} label="Order with oncekit" variant="quiet" />,
        )}
      </div>
      {canStart ? (
        <>
          <p className="mt-3 text-sm text-muted">
            Counted since Start: clicks here, posts that reached the app, rows in PostgreSQL, and charges in the payment
            gateway’s ledger. Each order is charged when it is placed.
          </p>
          <div className="mt-6">
            <TitledPanel title="What happened">
              <TimelineView title="Without" side="without" {...known} />
              <TimelineView title="With oncekit" side="with" {...known} />
            </TitledPanel>
          </div>
        </>
      ) : null}
    </>
  );
}
