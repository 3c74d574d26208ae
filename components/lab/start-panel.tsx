import type { Preset } from '../../shop/lab/presets.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { Panel } from '../ui/panel.tsx';
import type { SideNumbers } from './side-counts.tsx';

interface Props {
  preset: Preset;
  elsewhere: string | null;
  onStart: () => void;
  isRunning: boolean;
  problem: 'no-proxy' | 'failed' | null;
  /** The result of both columns; null while nobody knows. */
  verdict: { with: SideNumbers; without: SideNumbers } | null;
}

const PROBLEMS = {
  'no-proxy':
    'This page did not come through the fault proxy, so nothing can be broken. Start the demo with npm run demo.',
  failed: 'It could not be started. Try again in a moment.',
};

/** The fault that is coming, the button that plays it, and its result. */
export function StartPanel({ preset, elsewhere, onStart, isRunning, problem, verdict }: Props) {
  return (
    <Panel aria-labelledby="preset-title" className="mb-6 grid gap-4 sm:grid-cols-[1fr_auto] sm:items-center">
      <div>
        <h2 id="preset-title" className="text-lg font-semibold">
          {preset.name}
        </h2>
        <p className="text-muted">{preset.what}</p>
        {preset.byHand ? <p className="mt-1">{preset.byHand}</p> : null}
      </div>
      {elsewhere ? (
        <a href={elsewhere} className={buttonClass()}>
          Open behind the fault proxy
        </a>
      ) : (
        <Button
          type="button"
          aria-disabled={isRunning}
          onClick={isRunning ? undefined : onStart}
          className="sm:min-w-32"
        >
          {isRunning ? 'Running…' : 'Start'}
        </Button>
      )}
      <div aria-live="polite" className="empty:hidden sm:col-span-2">
        {problem ? <Notice tone="bad">{PROBLEMS[problem]}</Notice> : null}
        {verdict?.with.orders && verdict.without.orders !== null ? (
          <p data-verdict={preset.slug}>
            Without: {effects(verdict.without)}. With oncekit: <strong>{effects(verdict.with)}</strong>.
          </p>
        ) : null}
      </div>
    </Panel>
  );
}

function effects({ orders, charges }: SideNumbers): string {
  const made = `${orders} ${orders === 1 ? 'order' : 'orders'}`;
  return charges === null ? made : `${made}, ${charges} ${charges === 1 ? 'charge' : 'charges'}`;
}
