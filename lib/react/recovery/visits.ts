import { MINTED } from '../../core/issued-key.ts';
import type { SubmissionContext } from '../submission/context.ts';
import type { KeyAnswer } from '../submission/state.ts';
import type { KeyRecord } from '../submission/storage.ts';

/**
 * Tells a visit from a return. Who opens a form's page anew means another intent. Who loads it again, or goes back to it, wants
 * to know what became of the first one. And a form that is still there when the router has gone elsewhere is of no page.
 */
export function watchVisits<R>(form: SubmissionContext<R>) {
  const { state, dispatch, settings, lifetime } = form;
  /** The key that was still running when this page asked: its end is later than the page, whatever the clocks say. */
  let running: string | undefined;

  /** Notes down from which page the form is sent. */
  function left(): void {
    const { intent, records } = settings();
    const record = records.read(intent);
    const entry = currentEntry();
    if (form.meta) form.meta.entry = entry;
    if (record?.key === state().key) records.write(intent, { ...record, entry });
  }

  /** Waits for the router, as it has to load the page, and asks where the form is still there. `isLate`: it may have gone before. */
  function led(isLate = false): void {
    const signal = lifetime();
    const { page } = form.meta ?? {};
    const { state: place } = history;
    const look = () => {
      if (signal.aborted || state().status !== 'hasNavigated') return;
      // Next replaces the state where the address stays as it is. A link may have been followed meanwhile.
      const isThere = isLate || history.state !== place || location.href !== page;
      requestAnimationFrame(isThere ? () => requestAnimationFrame(arrive) : look);
    };
    const arrive = () => {
      if (!signal.aborted) dispatch({ type: 'arrived' });
    };
    look();
  }

  return {
    left,
    led,
    /**
     * The key to begin anew under, where the page was made after the end that was asked about. Undefined for a person who was left
     * in doubt, who is told, and for one who comes back to the page that it was sent from.
     */
    keyOfVisit({ state: found, settledAt = '' }: KeyAnswer<R>): string | undefined {
      const { intent, initialKey = '', records } = settings();
      const { by, key, nextKey } = state();
      // A page that was kept has sent something. Where entries have no names, an edit says nothing of a visit there.
      const isAsked = by === 'shown' || (by === 'edit' && (!form.sent || currentEntry()));
      if (isAsked && (found === 'in_progress' || found === 'unknown')) running = key;
      const [own = ''] = initialKey.split(' ');
      if (!(madeAt(own) > Date.parse(settledAt)) || running === key) return undefined;
      if (by === 'otherTab') return nextKey;
      const record = records.read(intent);
      const isOnRecord = record?.key === key && record.state === 'executing';
      return isAsked && isOnRecord && own !== key && !isReturn(record) ? own : undefined;
    },
  };
}

/** When the page of a minted key was made: Unix time in milliseconds. NaN for a key of the caller's own, which tells no time. */
function madeAt(key: string): number {
  const [, uuid = ''] = MINTED.exec(key) ?? [];
  return Number.parseInt(uuid.replace('-', '').slice(0, 12), 16);
}

/** The page in the browser's history, which stays the same when it is loaded again or gone back to. Undefined in older browsers. */
function currentEntry(): string | undefined {
  return (window as Partial<Window>).navigation?.currentEntry?.key;
}

/** True for a page that is loaded again or gone back to, and where nobody knows: it was left before this part of the script had come. */
function isReturn({ entry }: KeyRecord): boolean {
  const here = currentEntry();
  if (here) return !entry || entry === here;
  const [loaded] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  return loaded?.type === 'reload' || loaded?.type === 'back_forward';
}
