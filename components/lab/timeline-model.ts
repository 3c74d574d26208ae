import type { Side } from '../../shop/lab/crash.ts';
import type { LabReport } from '../../shop/lab/report.ts';
import type { BrowserEvent } from './lab-memory.ts';
import { requestsOn, type SeenRequest } from './proxy-client.ts';

export const LANES = ['browser', 'network', 'app', 'key row', 'order row', 'gateway'] as const;
export type Lane = (typeof LANES)[number];
export type Tone = 'info' | 'good' | 'bad' | 'warn';

interface Point {
  lane: Lane;
  /** Milliseconds since 1970. */
  at: number;
}

export interface Timeline {
  from: number;
  to: number;
  /** How long something was in a state. */
  bars: { lane: Lane; from: number; to: number; tone: Tone; label: string }[];
  /** A request or its answer on its way. */
  lines: { from: Point; to: Point; isQuestion: boolean }[];
  marks: (Point & { shape: 'click' | 'cut' | 'row' | 'charge' })[];
  /** The same in words, in order. */
  words: { at: number; lane: Lane; text: string }[];
}

/** The known events of one column's run. All of them have happened: nothing here is painted in advance. */
export interface Known {
  side: Side;
  events: readonly BrowserEvent[];
  seen: readonly SeenRequest[];
  report: LabReport | null;
}

/** Puts what browser, proxy, database and gateway have written down into one picture. Null while there is nothing. */
export function timelineOf(known: Known): Timeline | null {
  const events = known.events.filter(({ side }) => side === known.side);
  const seen = requestsOn(known.side, known.seen);
  const times = timesOf(events, seen, known);
  if (times.length === 0) return null;
  const from = Math.min(...times);
  const last = Math.max(...times);
  const timeline: Timeline = {
    from,
    to: last + Math.max(100, (last - from) * 0.08),
    bars: [],
    lines: [],
    marks: [],
    words: [],
  };
  addBrowser(timeline, events);
  for (const request of seen) addRequest(timeline, request);
  addRows(timeline, known);
  timeline.words.sort((a, b) => a.at - b.at);
  return timeline;
}

function timesOf(events: readonly BrowserEvent[], seen: readonly SeenRequest[], { side, report }: Known): number[] {
  const rows = report ? [...report[side].orders, ...(report[side].charges ?? [])].map(({ at }) => at) : [];
  const keys = side === 'with' && report ? report.with.keys.flatMap((key) => [key.claimedAt, key.settledAt]) : [];
  const sent = seen.flatMap(({ at, overAt }) => [at, overAt]);
  const written = [...rows, ...keys, ...sent].flatMap((at) => (at === null ? [] : Date.parse(at)));
  return [...events.map(({ at }) => at), ...written];
}

const STEPS: Record<string, { tone: Tone; label: string } | undefined> = {
  executing: { tone: 'info', label: 'sending' },
  waiting: { tone: 'info', label: 'sending' },
  retrying: { tone: 'warn', label: 'retrying' },
  unknown: { tone: 'warn', label: 'unknown' },
  offline: { tone: 'warn', label: 'offline' },
  checking: { tone: 'info', label: 'checking' },
  hasSucceeded: { tone: 'good', label: 'done' },
  done: { tone: 'good', label: 'done' },
  hasErrored: { tone: 'bad', label: 'error' },
  failed: { tone: 'bad', label: 'error' },
};

function addBrowser({ bars, marks, words, to }: Timeline, events: readonly BrowserEvent[]): void {
  const steps = events.filter((event) => event.kind === 'step');
  for (const [index, step] of steps.entries()) {
    const look = STEPS[step.to];
    words.push({ at: step.at, lane: 'browser', text: look ? `the form is ${look.label}` : 'the form is ready' });
    if (look) bars.push({ lane: 'browser', from: step.at, to: steps[index + 1]?.at ?? to, ...look });
  }
  for (const { at, kind } of events) {
    if (kind !== 'click') continue;
    marks.push({ lane: 'browser', at, shape: 'click' });
    words.push({ at, lane: 'browser', text: 'a click' });
  }
}

function addRequest(timeline: Timeline, request: SeenRequest): void {
  const { bars, lines, marks, words, to } = timeline;
  const isQuestion = request.method !== 'POST';
  const what = isQuestion ? 'the question' : 'the post';
  const at = Date.parse(request.at);
  const over = request.overAt === null ? null : Date.parse(request.overAt);
  const cut = (lane: Lane, when: number, text: string) => {
    marks.push({ lane, at: when, shape: 'cut' });
    words.push({ at: when, lane, text });
  };
  words.push({ at, lane: 'network', text: `${what} is on its way` });
  lines.push({ from: { lane: 'browser', at }, to: { lane: 'network', at }, isQuestion });
  if (request.atAppAt === null) {
    if (over === null) return;
    const isDown = request.outcome === 'app-down';
    if (isDown) lines.push({ from: { lane: 'network', at }, to: { lane: 'app', at: over }, isQuestion });
    cut(isDown ? 'app' : 'network', over, isDown ? 'the app is down' : `${what} is lost`);
    return;
  }
  const came = Date.parse(request.atAppAt);
  const answered = request.fromAppAt === null ? null : Date.parse(request.fromAppAt);
  words.push({ at: came, lane: 'app', text: `${what} arrives` });
  lines.push({ from: { lane: 'network', at }, to: { lane: 'app', at: came }, isQuestion });
  bars.push({ lane: 'app', from: came, to: answered ?? over ?? to, tone: 'info', label: '' });
  if (answered === null) {
    if (over !== null) cut('app', over, 'the app dies at work');
    return;
  }
  words.push({ at: answered, lane: 'app', text: `${what} is answered` });
  if (over === null) return;
  const isHeard = request.outcome === 'answered';
  lines.push({
    from: { lane: 'app', at: answered },
    to: { lane: isHeard ? 'browser' : 'network', at: over },
    isQuestion,
  });
  if (!isHeard) cut('network', over, 'the answer is lost');
}

function addRows({ bars, marks, words, to }: Timeline, { side, report }: Known): void {
  for (const { at } of report?.[side].orders ?? []) {
    marks.push({ lane: 'order row', at: Date.parse(at), shape: 'row' });
    words.push({ at: Date.parse(at), lane: 'order row', text: 'an order' });
  }
  for (const { at } of report?.[side].charges ?? []) {
    marks.push({ lane: 'gateway', at: Date.parse(at), shape: 'charge' });
    words.push({ at: Date.parse(at), lane: 'gateway', text: 'a charge' });
  }
  if (side === 'without') return;
  for (const { claimedAt, settledAt, state } of report?.with.keys ?? []) {
    const settled = settledAt === null ? null : Date.parse(settledAt);
    if (claimedAt !== null) {
      const claimed = Date.parse(claimedAt);
      words.push({ at: claimed, lane: 'key row', text: 'the key is claimed' });
      bars.push({ lane: 'key row', from: claimed, to: settled ?? to, tone: 'info', label: 'in progress' });
    }
    if (settled === null) continue;
    words.push({ at: settled, lane: 'key row', text: `the key has ${state}` });
    bars.push({ lane: 'key row', from: settled, to, tone: state === 'succeeded' ? 'good' : 'bad', label: state });
  }
}
