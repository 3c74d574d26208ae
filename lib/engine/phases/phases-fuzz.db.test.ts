import { afterAll, beforeAll, expect, test } from 'vitest';
import { random } from '../../../e2e/fixtures/random.ts';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { SEED, tier } from '../../../scripts/testing/tier.ts';
import type { Outcome } from '../../index.ts';
import { ANN, anything, effect, effects, HOUR, kit, rowsOf } from '../../integration/kit.fixture.ts';
import { movedTime } from '../../integration/moved-time.fixture.ts';
import type { Verdict } from '../../store/evidence.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import { documentedCheckout } from './documented-checkout.fixture.ts';
import { FuzzedProvider, MEMORY_MS, type Next, oneOf } from './fuzzed-provider.fixture.ts';
import { AMOUNT, callOf, type Deploy, deployOf, LAST_DEPLOY } from './phases-fuzz.fixture.ts';

/** In each of the projects that run it: one of `npm test`, three of `npm run test:chaos`. */
const KEYS = Number(process.env.FUZZ_PHASES ?? { short: 100, chaos: 3400, all: 300 }[tier ?? 'all']);
/** By one test, so that none of them takes minutes. */
const OF_ONE_TEST = 100;
const AT_ONCE = 20;
const EVENTS = 8;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

/** What came of a key, by the rows and the ledgers. */
interface Counts {
  charges: number;
  parcels: number;
  finished: number;
  undone: number;
}

/** One key, with its providers, under code that deploys change. */
class Sale {
  readonly key: string;
  readonly operation: string;
  readonly bank: FuzzedProvider;
  readonly carrier: FuzzedProvider;
  /** What happened, for whoever reads a failure. */
  readonly log: string[] = [];
  readonly outcomes: Outcome<unknown>[] = [];
  readonly #next: Next;
  readonly #store = prismaStore(database.client);
  readonly #isDocumented: boolean;
  #deploy: Deploy;
  #code: ReturnType<typeof this.build>;

  constructor(n: number) {
    this.#next = random(SEED * 1_000_003 + n);
    this.operation = `pay_${n}`;
    this.key = `fuzz-${n}`;
    this.bank = new FuzzedProvider(this.#next, `ch_${n}`);
    this.carrier = new FuzzedProvider(this.#next, `parcel_${n}`);
    this.#isDocumented = n % 5 === 4;
    this.#deploy = deployOf(this.#next);
    this.#code = this.build();
    this.note(`at first ${JSON.stringify(this.#deploy)}`);
  }

  build() {
    const idempotency = kit(database.client);
    if (this.#isDocumented) return { idempotency, pay: documentedCheckout(idempotency, this.operation, this.bank) };
    const deploy = this.#deploy;
    let { undoFails } = deploy;
    const pay = idempotency
      .operation({
        name: this.operation,
        schema: anything,
        onRefused: async (tx, { key }) => {
          if (undoFails-- > 0) throw new Error('The undo has failed.');
          await effect(tx, `${key}:undone`);
        },
      })
      .phases(async ({ atomic, foreign, key }) => {
        await atomic(deploy.firstStep, async (tx) => effect(tx, `${key}:order`));
        const charged = await foreign('charge_created', callOf(this.bank, deploy));
        if (deploy.ships) await foreign('parcel_booked', callOf(this.carrier, deploy));
        await atomic('finished', async (tx) => effect(tx, `${key}:finished`));
        return deploy.stores === 'new version' ? charged.reference : charged.id;
      });
    return { idempotency, pay };
  }

  note(what: string): void {
    const ledger = ({ sends, charges, underWay }: FuzzedProvider) =>
      `${sends} sent, ${charges.length} done, ${underWay.length} under way`;
    this.log.push(`${what} [bank: ${ledger(this.bank)}; carrier: ${ledger(this.carrier)}; ${this.bank.now / 1000} s]`);
  }

  deploy(deploy: Deploy): void {
    this.#deploy = deploy;
    this.#code = this.build();
    this.note(`deploy ${this.#isDocumented ? 'of the same' : JSON.stringify(deploy)}`);
  }

  async send(): Promise<void> {
    const innerRetries = this.#next() < 0.5;
    const payload = { sku: this.key, quantity: 1, paymentMethod: 'pm_card' };
    const outcome = await this.#code.pay.execute({ key: this.key, payload, innerRetries });
    this.outcomes.push(outcome);
    this.note(`the client sends: ${outcome.ok ? `ok ${JSON.stringify(outcome.data)}` : outcome.code}`);
  }

  async pass(ms: number): Promise<void> {
    if (ms > MEMORY_MS) this.arrive(); // no request is on its way for longer than a provider remembers its key
    await movedTime(database.client).pass(this.key, ms);
    for (const provider of [this.bank, this.carrier]) provider.now += ms;
    const { taken, settled, unknown } = await this.#code.idempotency.completeDue({ limit: 10 });
    this.note(`${ms / 1000} s later the worker takes ${taken}: ${settled} settled, ${unknown} unknown`);
  }

  arrive(): void {
    for (const provider of [this.bank, this.carrier]) provider.arrive();
    this.note('all that was under way arrives');
  }

  async row() {
    return (await rowsOf(database.client, this.key))[0];
  }

  /** Somebody who is asked looks at the ledger, and says what is there. Never while something is under way. */
  async judge(): Promise<void> {
    const row = await this.row();
    const id = { ...ANN, operation: this.operation, key: this.key };
    const isUnderWay = [this.bank, this.carrier].some(({ underWay }) => underWay.length > 0);
    if (!row?.needsAttention || row.settledAt || isUnderWay) return;
    const seen = { ...id, ...(await this.#store.asSeen(id)) };
    const started = (await this.#store.steps(id)).find(({ state }) => state === 'started');
    const verdict = this.#verdictOn(started?.name === 'parcel_booked' ? this.carrier : this.bank);
    const overrules = seen.heard ?? undefined;
    const judged = await this.#store.recordVerdict(
      seen,
      verdict.kind === 'succeeded' ? verdict : { ...verdict, overrules },
      'ann',
    );
    this.note(
      `a person says ${JSON.stringify(verdict)} of ${started?.name}${judged === 'recorded' ? '' : ', too late'}`,
    );
  }

  /** A provider tells what it has done, whether anybody waits for that or not. */
  async hear(): Promise<void> {
    const [step, { charges }] = oneOf(this.#next, [
      ['charge_created', this.bank],
      ['parcel_booked', this.carrier],
    ] as const);
    const [charge] = charges;
    if (!charge) return;
    const id = { ...ANN, operation: this.operation, key: this.key };
    const proof = { said: `${step} ${charge.id}`, step, succeeded: charge.id };
    const heard = await database.client.$transaction((tx) =>
      this.#code.idempotency.recordEvidence(tx, id, proof, 'provider'),
    );
    this.note(`the provider says ${proof.said}: ${heard}`);
  }

  #verdictOn(provider: FuzzedProvider): Verdict {
    const [charge] = provider.charges;
    if (charge) return { kind: 'succeeded', reference: charge.id };
    const says = oneOf(this.#next, ['by hand', 'failed', 'retry'] as const);
    if (says !== 'by hand') return { kind: says };
    return { kind: 'succeeded', reference: provider.charge(AMOUNT).id };
  }

  async live(): Promise<void> {
    const product = { name: this.key, description: '', priceCents: AMOUNT, stock: 1 };
    if (this.#isDocumented) await database.client.product.create({ data: { sku: this.key, ...product } });
    await this.send();
    for (let event = 0; event < EVENTS && !(await this.isSettled()); event++) {
      const which = this.#next();
      if (which < 0.2) await this.send();
      else if (which < 0.55) await this.pass(oneOf(this.#next, [1000, 30_000, 90_000, HOUR, 25 * HOUR]));
      else if (which < 0.7) this.deploy(deployOf(this.#next));
      else if (which < 0.8) this.arrive();
      else if (which < 0.9) await this.judge();
      else await this.hear();
    }
    // In the end the code is mended, whoever is asked answers, and the worker goes on.
    this.arrive();
    this.deploy(LAST_DEPLOY);
    for (let day = 0; day < 5 && !(await this.isSettled()); day++) {
      await this.pass(2 * HOUR);
      this.arrive();
      await this.judge();
    }
    await this.send();
  }

  async isSettled(): Promise<boolean> {
    const state = (await this.row())?.state;
    return state === 'succeeded' || state === 'failed';
  }

  async #counts(): Promise<Counts> {
    const counts = { charges: this.bank.charges.length, parcels: this.carrier.charges.length };
    if (!this.#isDocumented) {
      const [finished, undone] = await Promise.all(
        ['finished', 'undone'].map((what) => effects(database.client, `${this.key}:${what}`)),
      );
      return { ...counts, finished: finished ?? 0, undone: undone ?? 0 };
    }
    const orders = await database.client.order.findMany({ where: { idempotencyKey: this.key } });
    const { stock } = await database.client.product.findUniqueOrThrow({ where: { sku: this.key } });
    const count = (wanted: string) => orders.filter(({ status }) => status === wanted).length;
    return { ...counts, finished: count('paid'), undone: Math.min(stock, count('payment_failed')) };
  }

  /** What the ledgers, the shop's rows and the answers say of each other. */
  async check(): Promise<string> {
    const told = `SEED=${SEED}, ${this.key}\n${this.log.join('\n')}\n`;
    const row = await this.row();
    const state = row?.state ?? 'none';
    const { charges, parcels, finished, undone } = await this.#counts();
    expectCounted(Math.max(charges, parcels), told).toBeLessThanOrEqual(1);
    for (const { amount } of [...this.bank.charges, ...this.carrier.charges]) expect(amount, told).toBe(AMOUNT);
    if (state === 'succeeded') {
      expectCounted([charges, finished], told).toEqual([1, 1]);
      // What was done is told by its receipts.
      const where = { key: this.key, kind: 'foreign' };
      const steps = await database.client.idempotencyPhase.findMany({ where, orderBy: { position: 'asc' } });
      const made = [...this.bank.charges, ...this.carrier.charges].map(({ id }) => id);
      expect(
        steps.map(({ reference }) => reference),
        told,
      ).toEqual(made);
      for (const { amount, knownBy } of steps) expect([amount, knownBy], told).not.toContain(null);
    } else if (state === 'failed') {
      expectCounted([parcels, finished, undone], told).toEqual([0, 0, 1]);
      // A charge that was not compensated is in sight.
      expect(row?.needsAttention, told).toBe(charges === 1);
    } else {
      expect(row?.needsAttention, told).toBe(true);
    }
    for (const outcome of this.outcomes) {
      const said = outcome.ok ? 'succeeded' : outcome.code === 'failed' ? 'failed' : undefined;
      if (said) expect(said, told).toBe(state);
      if (outcome.ok && !this.#isDocumented) expect(outcome.data, told).toBe(this.bank.charges[0]?.id);
    }
    return state;
  }
}

const tests = Array.from({ length: Math.ceil(KEYS / OF_ONE_TEST) }, (_, n) => n * OF_ONE_TEST);

test.each(tests)(
  'under faults, deploys and persons who tell the truth none of 100 keys is charged twice or lost from sight: from %d',
  async (first) => {
    const states: string[] = [];
    for (let n = first; n < first + OF_ONE_TEST; n += AT_ONCE) {
      const sales = Array.from({ length: AT_ONCE }, (_, at) => new Sale(n + at));
      await Promise.all(sales.map((sale) => sale.live()));
      for (const sale of sales) states.push(await sale.check());
    }
    // Otherwise what is checked is how everything waits.
    const count = (state: string) => states.filter((each) => each === state).length;
    expect(count('succeeded')).toBeGreaterThan(OF_ONE_TEST / 3);
    expect(count('failed')).toBeGreaterThan(OF_ONE_TEST / 20);
  },
);
