/** The process of `own-random-handlers.db.test.ts` that is killed among its handlers: at a moment of theirs, by itself, so that it can say what it knows. */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import pg from 'pg';
import type { Step } from './own-random-handlers.fixture.ts';
import { type Moment, wayOn } from './own-random-handlers-client.fixture.ts';
import { begin, type Seen } from './own-random-handlers-run.fixture.ts';

/** One line of its input. */
export interface Order {
  cases: { key: string; program: readonly Step[]; isPlain: boolean }[];
  /** It is killed at so many of these, or at so many of all. Nothing happens where there are fewer. */
  at: Moment | 'any';
  times: number;
}

/** One line of its output, for each of its input. */
export interface Told {
  isKilled: boolean;
  all: Pick<Seen, 'key' | 'notes' | 'runs' | 'answer'>[];
}

const [url = '', max = ''] = process.argv.slice(2);
let seen: readonly Seen[] = [];
let order: Order | undefined;

function tell(isKilled: boolean): void {
  const all = seen.map(({ key, notes, runs, answer }) => ({ key, notes, runs, answer }));
  writeSync(1, `${JSON.stringify({ isKilled, all } satisfies Told)}\n`);
}

function onMoment(moment: Moment): void {
  if (!order || (order.at !== 'any' && order.at !== moment) || --order.times > 0) return;
  tell(true);
  process.kill(process.pid, 'SIGKILL');
}

const killing = new pg.Pool({ connectionString: url, max: 2 });
const kill = (pid: number) => killing.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
const wayOf = (isPlain: boolean) => wayOn(url, { isPlain, max: Number(max), kill, onMoment });
const ways = { plain: wayOf(true), kits: wayOf(false) };

for await (const line of createInterface({ input: process.stdin })) {
  order = JSON.parse(line) as Order;
  const cases = order.cases.map(({ isPlain, ...more }) => ({ ...more, way: isPlain ? ways.plain : ways.kits }));
  const begun = begin(cases, () => onMoment('step'));
  seen = begun.seen;
  await begun.done;
  order = undefined;
  tell(false);
}
await Promise.all([ways.plain.close(), ways.kits.close(), killing.end()]);
