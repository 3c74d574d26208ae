import type { KeyDetail, KeyEvent, PhaseView } from 'oncekit/admin';
import type { Tone } from '../../ui/badge.tsx';
import { isOfTimeline, type OnlyCounted } from './answered-again.tsx';

/** One line of a key's timeline. */
export interface Happening {
  at: Date;
  tone: Tone;
  words: string;
  by?: string;
  event?: KeyEvent;
  /** The key settled. */
  isEnd?: boolean;
}

const said: Record<Exclude<KeyEvent['type'], OnlyCounted>, [words: string, tone: Tone]> = {
  fenced: ['Given up for good', 'muted'],
  payload_mismatch: ['Sent again with another payload, refused', 'warn'],
  followed: ['Another key came for the same thing, and was told of this one', 'info'],
  answered_by: ['Answered by another key, which held the thing', 'info'],
  unknown: ['The outcome of a foreign call could not be learned', 'warn'],
  resolved: ['The outcome of a foreign call was found', 'good'],
  needs_attention: ['A person is asked to look', 'warn'],
  call_failed: ['A call failed, or could not be asked about', 'warn'],
  late_answer: ['An answer came when nobody waited for it any more', 'warn'],
  evidence: ['Something was heard from elsewhere', 'info'],
  contradicted: ['What was heard contradicts what this key has ended in', 'bad'],
  set_aside: ['The provider did not confirm what was heard', 'warn'],
  thing_freed: ['What is done once may be done by another key, by that word', 'info'],
  verdict: ['A person said what happened', 'info'],
  retry: ['Taken up again at a person’s request', 'info'],
  released: ['Taken from its executor', 'info'],
  forgotten: ['What was stored of it was erased', 'info'],
  acknowledged: ['A person has seen to it', 'good'],
};

/** The events of a key that are known, oldest first. */
export function happeningsOf(detail: KeyDetail): Happening[] {
  const { state, claimedAt, settledAt, events, phases } = detail;
  const isTombstone = state === 'abandoned';
  const all: Happening[] = [
    ...(isTombstone ? [] : [{ at: claimedAt, tone: 'info', words: 'Claimed' } as const]),
    ...phases.flatMap(stepsOf),
    ...events.filter(isOfTimeline).map((event): Happening => {
      const [words, tone] = said[event.type] ?? [event.type, 'muted'];
      const why = event.type === 'needs_attention' && event.detail?.why;
      return { at: event.at, tone, words: why ? `${words}: ${why}` : words, by: event.actor, event };
    }),
    ...(settledAt && !isTombstone ? [settled(state, settledAt, detail)] : []),
  ];
  return all.sort((one, other) => placeOf(one, phases) - placeOf(other, phases));
}

/** A key settles behind its steps, also where the clock that was read first says otherwise. */
function placeOf({ at, isEnd }: Happening, phases: readonly PhaseView[]): number {
  const steps = isEnd ? phases.map(({ finishedAt }) => finishedAt?.getTime() ?? 0) : [];
  return Math.max(at.getTime(), ...steps);
}

function stepsOf({ name, kind, state, sends, notExecuted, firstSentAt, finishedAt }: PhaseView): Happening[] {
  const times = sends > 1 ? `, ${sends} times in all` : '';
  const proven =
    notExecuted > 0 ? `; ${notExecuted === sends ? 'nothing' : `${notExecuted} of them nothing`} was done` : '';
  return [
    ...(firstSentAt
      ? [{ at: firstSentAt, tone: 'info', words: `${name}: sent to the provider${times}${proven}` } as const]
      : []),
    ...(finishedAt && state === 'done'
      ? [{ at: finishedAt, tone: 'good', words: `${name}: ${finished[kind]}` } as const]
      : []),
  ];
}

const finished: Record<PhaseView['kind'], string> = {
  atomic: 'committed',
  foreign: 'answered',
  capture: 'captured',
};

function settled(state: KeyDetail['state'], at: Date, { attempts }: KeyDetail): Happening {
  const words = `Settled: ${state.replace('_', ' ')}, ${attempts === 1 ? 'at the first attempt' : `after ${attempts} attempts`}`;
  return { at, tone: state === 'succeeded' ? 'good' : 'bad', words, isEnd: true };
}
