import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Executor, Told } from '../fixtures/executor-process.ts';
import type { Setting } from './cluster.ts';

/** The ways in which an operation reaches the database. */
export const KINDS = ['own', 'interactive', 'phases', 'phases-plain'] as const;
export type Kind = (typeof KINDS)[number];

/** In Prisma's own transactions nobody hears whether a commit was replicated. */
export const kindsIn = ({ durability }: Setting): readonly Kind[] =>
  durability ? KINDS.filter((kind) => kind !== 'interactive' && kind !== 'phases-plain') : KINDS;

/** An intent, and when its client was told what came of it. */
export interface Intent {
  key: string;
  kind: Kind;
  /** Which of its kind's clients has it: where that one sends first. */
  client: number;
  sends: number;
  bornAt: number;
  /** Of the first answer that settles it. */
  settledAt?: number;
  /** Which app that came from. */
  by?: number;
  /** The last answer. */
  last?: Told | 'nothing' | undefined;
}

/** As many clients of each kind, each with one intent after the other. */
export const CLIENTS = 2;
/** From one intent to the next, and from an answer that settles nothing to the next send. */
const PAUSE_MS = 50;
/** How long an app may take for an answer, and a client listens before it sends again. */
const DEADLINE_MS = 1500;
const PATIENCE_MS = 3000;

/** Clients that send each intent, under its key, to either app until they are told what came of it. */
export class Load {
  readonly settled: Intent[] = [];
  readonly open = new Set<Intent>();
  /** How many sends nobody answered, and what the others were told that settled nothing, by kind. */
  told: Record<string, number> = {};
  readonly #apps: Executor[];
  readonly #clients: Promise<void>[];
  #isOver = false;
  #isGivenUp = false;

  constructor(apps: Executor[], kinds: readonly Kind[]) {
    this.#apps = apps;
    this.#clients = kinds.flatMap((kind) => Array.from({ length: CLIENTS }, (_, n) => this.#client(kind, n)));
  }

  /** No new intents. Resolves with those that are not settled `withinMs`, which nobody sends any more. */
  async end(withinMs: number): Promise<Intent[]> {
    this.#isOver = true;
    await Promise.race([Promise.all(this.#clients), sleep(withinMs)]);
    this.#isGivenUp = true;
    return [...this.open];
  }

  /** Sends it once. Undefined: nothing was heard in time. */
  async send(intent: Intent): Promise<Told | undefined> {
    const by = (intent.client + intent.sends) % this.#apps.length;
    const { kind: operation, key } = intent;
    const task = { operation, key, principal: 'client', payload: {}, attempt: ++intent.sends, deadlineMs: DEADLINE_MS };
    const told = await Promise.race([this.#apps[by]?.execute(task), sleep(PATIENCE_MS, undefined)]);
    intent.last = told ?? 'nothing';
    const word = `${intent.kind}: ${told ? told.code : 'nothing'}`;
    if (!told?.ok) this.told[word] = (this.told[word] ?? 0) + 1;
    if (told?.ok) Object.assign(intent, { settledAt: performance.now(), by });
    return told;
  }

  async #client(kind: Kind, client: number): Promise<void> {
    while (!this.#isOver) {
      const intent: Intent = { key: randomUUID(), kind, client, sends: 0, bornAt: performance.now() };
      this.open.add(intent);
      // Bounded: by who gives the load up.
      while (!(await this.send(intent))?.ok) {
        if (this.#isGivenUp) return;
        await sleep(PAUSE_MS);
      }
      this.open.delete(intent);
      this.settled.push(intent);
      await sleep(PAUSE_MS);
    }
  }
}
