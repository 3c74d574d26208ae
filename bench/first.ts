import { randomUUID } from 'node:crypto';
import { copyOf } from '../lib/core/data.ts';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { bare, obvious, orderOf, POOL, plainClient, rawOrderOf } from './order.ts';
import { median, type Report, type Row } from './report.ts';
import { interleaved, load, ratio, type Sample, warmUp } from './rounds.ts';

const OPERATIONS = 3000;
/** Of the ways that are only shown for comparison. */
const FEWER = 1000;

/**
 * The cost of a first execution beside `prisma.$transaction((tx) => tx.order.create(…))`: keys of their own, eight
 * callers, a pool of ten. The keys are unsigned, as an API client's; a form's are checked by one HMAC more.
 */
export async function first(): Promise<Report> {
  // The floor is an app that has never heard of the kit: its pool is pg's own.
  const { client, url, drop } = await testDatabase({ max: POOL });
  const plain = plainClient(url);
  const [kit, raw, fallback] = [orderOf(client), rawOrderOf(client), orderOf(plain)];
  const begun = orderOf(client, undefined, {
    begin: ({ scope }) => ({ settings: { 'app.tenant': scope.tenant } }),
  });
  const runs = {
    floor: (n: number) => bare(plain, n),
    kit: (n: number) => kit({ key: randomUUID(), n }),
    raw: (n: number) => raw({ key: randomUUID(), n }),
    begun: (n: number) => begun({ key: randomUUID(), n }),
    plain: (n: number) => fallback({ key: randomUUID(), n }),
    obvious: (n: number) => obvious(plain, n),
  };
  const measured =
    (way: keyof typeof runs, operations = OPERATIONS) =>
    () =>
      load(runs[way], operations);
  try {
    for (const run of Object.values(runs)) await warmUp(run);
    const { floor, again, ...ways } = await interleaved({
      floor: measured('floor'),
      kit: measured('kit'),
      raw: measured('raw'),
      again: measured('floor'),
      begun: measured('begun'),
      plain: measured('plain', FEWER),
      obvious: measured('obvious', FEWER),
    });
    const row = (figure: string, way: Sample[], of: keyof Sample, must: { atLeast?: number; atMost?: number } = {}) =>
      ratio({ figure, of: (sample) => sample[of], floor: [floor, again], way, ...must });
    return {
      name: 'First execution, ratio to the bare transaction',
      rows: [
        row('first execution, throughput', ways.kit, 'perSecond', { atLeast: 0.92 }),
        row("first execution, Node's CPU per operation", ways.kit, 'cpuUs', { atMost: 1.08 }),
        row("first execution, PostgreSQL's CPU per operation", ways.kit, 'postgresUs', { atMost: 1.15 }),
        row('SQL past Prisma, throughput', ways.raw, 'perSecond', { atLeast: 1.2 }),
        row("SQL past Prisma, Node's CPU per operation", ways.raw, 'cpuUs', { atMost: 0.68 }),
        row("SQL past Prisma, PostgreSQL's CPU per operation", ways.raw, 'postgresUs'),
        row('with a setting of `begin`, throughput', ways.begun, 'perSecond'),
        row("with a setting of `begin`, Node's CPU per operation", ways.begun, 'cpuUs'),
        row("with a setting of `begin`, PostgreSQL's CPU per operation", ways.begun, 'postgresUs'),
        row("throughput, without the kit's pool", ways.plain, 'perSecond', { atLeast: 0.42 }),
        row("Node's CPU, without the kit's pool", ways.plain, 'cpuUs', { atMost: 2.3 }),
        row("PostgreSQL's CPU, without the kit's pool", ways.plain, 'postgresUs'),
        row('throughput of the obvious one (create key, create order, update key)', ways.obvious, 'perSecond'),
        row("Node's CPU of the obvious one", ways.obvious, 'cpuUs'),
        row("PostgreSQL's CPU of the obvious one", ways.obvious, 'postgresUs'),
        ...absolute([...floor, ...again]),
        { figure: "the copy of the order's input, in µs", value: copied({ n: 1 }) },
        { figure: 'the copy of an input of a hundred lines, in µs', value: copied(HUNDRED_LINES) },
      ],
    };
  } finally {
    await plain.$disconnect();
    await drop();
  }
}

const HUNDRED_LINES = { lines: Array.from({ length: 100 }, (_, n) => ({ sku: `mug-${n}`, quantity: n, note: null })) };

/** Measures the copy of its input that each try gets. */
function copied(input: unknown): string {
  const copies = 20_000;
  const run = () => {
    for (let n = 0; n < copies; n++) copyOf(input);
  };
  run(); // V8 compiles it
  const started = performance.now();
  run();
  return (((performance.now() - started) / copies) * 1000).toFixed(2);
}

/** The floors of the ratios, for a feeling of size. They hold for this machine alone. */
function absolute(floor: Sample[]): Row[] {
  const of = (name: keyof Sample) => median(floor.map((sample) => sample[name])).toFixed(0);
  return [
    { figure: 'the bare transaction, operations a second', value: of('perSecond') },
    { figure: "the bare transaction, Node's CPU in µs", value: of('cpuUs') },
    { figure: "the bare transaction, PostgreSQL's CPU in µs", value: of('postgresUs') },
  ];
}
