import { randomUUID } from 'node:crypto';
import { testDatabase } from '../lib/demo/test-database.ts';
import { bare, obvious, orderOf, POOL, plainClient } from './order.ts';
import { median, type Report, type Row } from './report.ts';
import { interleaved, load, ratio, type Sample } from './rounds.ts';

const OPERATIONS = 3000;
/** Of the ways that are only shown for comparison. */
const FEWER = 1000;

/**
 * What a first execution costs beside `prisma.$transaction((tx) => tx.order.create(…))`: keys of their own, eight
 * callers, a pool of ten. The keys are unsigned, as an API client's; a form's are checked by one HMAC more.
 */
export async function first(): Promise<Report> {
  // The floor is an app that has never heard of the kit: its pool is pg's own.
  const { client, url, drop } = await testDatabase({ max: POOL });
  const plain = plainClient(url);
  const [kit, ambient, fallback] = [orderOf(client), orderOf(client, 'ambient'), orderOf(plain)];
  const measured =
    (run: (n: number) => Promise<unknown>, operations = OPERATIONS) =>
    () =>
      load(run, operations);
  try {
    const { floor, again, ...ways } = await interleaved({
      floor: measured((n) => bare(plain, n)),
      kit: measured((n) => kit({ key: randomUUID(), n })),
      ambient: measured((n) => ambient({ key: randomUUID(), n })),
      again: measured((n) => bare(plain, n)),
      plain: measured((n) => fallback({ key: randomUUID(), n }), FEWER),
      obvious: measured((n) => obvious(plain, n), FEWER),
    });
    const row = (figure: string, way: Sample[], of: keyof Sample, must: { atLeast?: number; atMost?: number } = {}) =>
      ratio({ figure, of: (sample) => sample[of], floor: [floor, again], way, ...must });
    return {
      name: 'First execution, ratio to the bare transaction',
      rows: [
        row('first execution, throughput', ways.kit, 'perSecond', { atLeast: 0.85 }),
        row("first execution, Node's CPU per operation", ways.kit, 'cpuUs', { atMost: 1.2 }),
        row("first execution, PostgreSQL's CPU per operation", ways.kit, 'postgresUs'),
        row('first execution, ambient, throughput', ways.ambient, 'perSecond', { atLeast: 1.3 }),
        row("first execution, ambient, Node's CPU per operation", ways.ambient, 'cpuUs', { atMost: 0.8 }),
        row("first execution, ambient, PostgreSQL's CPU per operation", ways.ambient, 'postgresUs'),
        row('throughput, without oncekitPool', ways.plain, 'perSecond'),
        row("Node's CPU, without oncekitPool", ways.plain, 'cpuUs'),
        row("PostgreSQL's CPU, without oncekitPool", ways.plain, 'postgresUs'),
        row('throughput of the obvious one (create key, create order, update key)', ways.obvious, 'perSecond'),
        row("Node's CPU of the obvious one", ways.obvious, 'cpuUs'),
        row("PostgreSQL's CPU of the obvious one", ways.obvious, 'postgresUs'),
        ...absolute([...floor, ...again]),
      ],
    };
  } finally {
    await plain.$disconnect();
    await drop();
  }
}

/** What the ratios are ratios to, for a feeling of size. They hold for this machine alone. */
function absolute(floor: Sample[]): Row[] {
  const of = (name: keyof Sample) => median(floor.map((sample) => sample[name])).toFixed(0);
  return [
    { figure: 'the bare transaction, operations a second', value: of('perSecond') },
    { figure: "the bare transaction, Node's CPU in µs", value: of('cpuUs') },
    { figure: "the bare transaction, PostgreSQL's CPU in µs", value: of('postgresUs') },
  ];
}
