import type { CrashPoint } from 'oncekit';
import type { Side } from './crash.ts';

/** The faults that the proxy applies to one column's requests. As `POST /__proxy/faults` takes it, without `match`. */
interface Fault {
  kind: 'lose-answer' | 'lose-request' | 'delay' | 'delay-answer';
  times?: number;
  ms?: number;
  /** Heals by itself after so long. Milliseconds. */
  forMs?: number;
  /** Only this column's requests; else both columns', each as often. */
  side?: Side;
  /** Also the questions that the form asks about its key, not its posts alone. */
  isCutOff?: boolean;
}

/** The page's own acts, as a person would do them. */
export type Play = 'twice' | 'insist' | 'impatient' | 'edit' | 'session' | 'once' | 'none';

export interface Preset {
  /** Its address: `/lab/<slug>`. */
  slug: string;
  name: string;
  /** The fault of both columns, in a sentence. */
  what: string;
  /** Acts that only a person can do. */
  byHand?: string;
  play: Play;
  faults: Fault[];
  /** The app is killed when both columns stand here. */
  crash?: CrashPoint;
  /** The kit's column orders in phases: its charge is part of what happens once. */
  isInPhases?: boolean;
  /** All tabs of the browser are one form. */
  isShared?: boolean;
}

/** Longer than any play takes, so that nothing stays broken for who goes on by hand. */
const A_WHILE = 60_000;

export const PRESETS: readonly [Preset, ...Preset[]] = [
  {
    slug: 'double-click',
    name: 'Double click',
    what: 'Each button is clicked twice, quickly.',
    play: 'twice',
    faults: [{ kind: 'delay', ms: 400, times: 4, forMs: A_WHILE }],
  },
  {
    slug: 'lost-answer',
    name: 'Lost answer',
    what: 'The server does its work, and its answer is lost on the way.',
    play: 'insist',
    faults: [{ kind: 'lose-answer', forMs: A_WHILE }],
  },
  {
    slug: 'three-lost-answers',
    name: 'Three lost answers',
    what: 'Three answers in a row are lost.',
    play: 'insist',
    faults: [{ kind: 'lose-answer', times: 3, forMs: A_WHILE }],
  },
  {
    slug: 'crash-before-commit',
    name: 'Crash before commit',
    what: 'The server is killed before the order is committed.',
    play: 'insist',
    faults: [],
    crash: 'before-commit',
  },
  {
    slug: 'crash-after-commit',
    name: 'Crash after commit',
    what: 'The server is killed right behind the commit, before it answers.',
    play: 'insist',
    faults: [],
    crash: 'after-commit',
  },
  {
    slug: 'kill-during-charge',
    name: 'Kill during the charge',
    what: 'The card is charged, and the server is killed before it can write that down.',
    play: 'insist',
    faults: [],
    crash: 'after-answer',
    isInPhases: true,
  },
  {
    slug: 'slow-server',
    name: 'Slow server',
    what: 'The server takes two seconds, and the person clicks again, and again.',
    play: 'impatient',
    faults: [{ kind: 'delay', ms: 2000, times: 3, forMs: A_WHILE }],
  },
  {
    slug: 'offline',
    name: 'Go offline',
    what: 'The order arrives, then nothing gets through for two seconds.',
    play: 'insist',
    faults: [
      { kind: 'lose-answer', forMs: A_WHILE },
      { kind: 'lose-request', times: 1000, forMs: 2000, isCutOff: true },
    ],
  },
  {
    slug: 'two-tabs',
    name: 'Two tabs',
    what: 'The same form is open in two tabs.',
    byHand: 'Press Start, open this page in a second tab, and order on both sides of both tabs.',
    play: 'none',
    faults: [],
    isShared: true,
  },
  {
    slug: 'edit-after-loss',
    name: 'Edit after a lost answer',
    what: 'The answer is lost, and the person changes the quantity before trying again.',
    play: 'edit',
    faults: [
      { kind: 'lose-answer', times: 50, forMs: A_WHILE, side: 'with' },
      { kind: 'lose-answer', forMs: A_WHILE, side: 'without' },
    ],
  },
  {
    slug: 'reload',
    name: 'Reload mid-flight',
    what: 'The answers take eight seconds, and the person reloads the page meanwhile.',
    byHand: 'Press Start, reload the page while both sides wait, and order again where nothing is shown.',
    play: 'once',
    faults: [{ kind: 'delay-answer', ms: 8000, forMs: A_WHILE }],
  },
  {
    slug: 'session-expires',
    name: 'Session expires',
    what: 'The answer is lost, the session ends, and the person signs in again.',
    play: 'session',
    // Late: the session is to end while the request is under way.
    faults: [{ kind: 'lose-answer', ms: 600, forMs: A_WHILE }],
  },
  {
    slug: 'javascript-off',
    name: 'JavaScript off',
    what: 'The server takes two seconds, and no script keeps anybody from clicking twice.',
    byHand: 'Press Start, switch JavaScript off, reload, and press each order button twice within two seconds.',
    play: 'none',
    faults: [{ kind: 'delay', ms: 2000, times: 20, forMs: 5 * A_WHILE }],
  },
];

export function findPreset(slug: string): Preset | undefined {
  return PRESETS.find((preset) => preset.slug === slug);
}
