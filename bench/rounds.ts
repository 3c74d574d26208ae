import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { postgresMeter } from './cpu.ts';
import { median, type Row } from './report.ts';

/** `BENCH_ROUNDS=2` for a quick look; figures that count need seven or more. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
/** The first rounds only warm up: V8 still compiles, pools open connections, PostgreSQL plans. */
const WARM_UP_ROUNDS = 2;

setFlagsFromString('--expose-gc');
/** Before each sample, so that each pays for its own garbage. */
const collectGarbage: () => void = runInNewContext('gc');

/** The time of one way in one round. */
export interface Sample {
  perSecond: number;
  /** Processor time of this process for one operation, all threads, in microseconds. */
  cpuUs: number;
  /** The same of PostgreSQL's processes; NaN where /proc does not tell (that is, off Linux). */
  postgresUs: number;
}

/**
 * Measures the ways in turn, round after round, and returns each one's samples. A slow minute of the machine so meets
 * all of them. Who begins turns from round to round, and every other round goes backwards: what a way leaves behind for
 * the next one (garbage, dirty pages) must not always fall to the same.
 */
export async function interleaved<Name extends string, T>(
  ways: Record<Name, () => Promise<T>>,
): Promise<Record<Name, T[]>> {
  const names = Object.keys(ways) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, T[]>;
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    for (let place = 0; place < names.length; place++) {
      const turn = (round % 2 ? names.length - place : place) + round;
      const name = names[turn % names.length] as Name;
      const sample = await ways[name]();
      if (round >= WARM_UP_ROUNDS) samples[name].push(sample);
    }
  }
  return samples;
}

/** So many operations are dearer than those behind them: V8 has not compiled all of it yet. */
const COLD = 10_000;

/** Goes ahead of all rounds of a way whose figures count. */
export async function warmUp(run: (n: number) => Promise<unknown>): Promise<void> {
  await runAll(run, COLD, 8);
}

async function runAll(run: (n: number) => Promise<unknown>, count: number, callers: number): Promise<void> {
  let left = count;
  const caller = async () => {
    while (left > 0) await run(--left);
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

/**
 * Runs an operation so many times, by so many callers of which each waits for its own, and says what one took. A few
 * that are not counted go ahead: an idle pool has closed its connections.
 */
export async function load(run: (n: number) => Promise<unknown>, operations: number, callers = 8): Promise<Sample> {
  const all = (count: number) => runAll(run, count, callers);
  await all(operations / 10);
  collectGarbage();
  const postgres = postgresMeter();
  const cpu = process.cpuUsage();
  const started = performance.now();
  await all(operations);
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    perSecond: operations / seconds,
    cpuUs: (user + system) / operations,
    postgresUs: postgres() / operations,
  };
}

interface Ratio<T> {
  figure: string;
  of: (sample: T) => number;
  /** The floor, measured twice in each round. */
  floor: readonly [T[], T[]];
  way: T[];
  atLeast?: number;
  atMost?: number;
}

/**
 * The median over the rounds of a way's ratio to its floor, which is the mean of the round's two measurements of it.
 * Met is what reaches its bound; where 1 would do, also what is no further from 1 than the floor is from itself.
 */
export function ratio<T>({ figure, of, floor: [first, second], way, atLeast, atMost }: Ratio<T>): Row {
  const pairs = first.map((sample, round) => [of(sample), of(second[round] as T)] as const);
  const rounds = way.map((sample, round) => of(sample) / mean(pairs[round] as readonly [number, number]));
  const value = median(rounds);
  const [low, high] = middleHalf(pairs.map(([a, b]) => b / a));
  const row = { figure, value: value.toFixed(2), spread: range(middleHalf(rounds)), floor: range([low, high]), rounds };
  if (atLeast !== undefined)
    return { ...row, must: `≥ ${atLeast}`, met: value >= (atLeast > 1 ? atLeast : Math.min(atLeast, low)) };
  if (atMost !== undefined)
    return { ...row, must: `≤ ${atMost}`, met: value <= (atMost < 1 ? atMost : Math.max(atMost, high)) };
  return row;
}

function mean([a, b]: readonly [number, number]): number {
  return (a + b) / 2;
}

/** Between which values the middle half of the rounds lies: one disturbed round widens it less than it would a range. */
function middleHalf(values: readonly number[]): [low: number, high: number] {
  const sorted = [...values].sort((a, b) => a - b);
  const cut = Math.floor(sorted.length / 4);
  return [sorted[cut] ?? Number.NaN, sorted[sorted.length - 1 - cut] ?? Number.NaN];
}

function range([low, high]: [number, number]): string {
  return `${low.toFixed(2)}–${high.toFixed(2)}`;
}
