import type { Client } from '../../../shop/db.ts';
import { orderWithRefund } from './ambient/ambient.fixture.ts';
import { announcing, type Loss } from './own-random-handlers-client.fixture.ts';

/**
 * Random handlers, as data, so that one can be run on both ways, printed and made smaller. What a seed gives stays the same for
 * as long as this file does.
 */

export type Step =
  | Write
  /** Asks something, which is never refused. */
  | { read: 'count' | 'findUnique' | 'list'; by: By }
  /** A `$transaction(fn)` of the innermost `tx`, or of the client by its global name. */
  | { nested: Step[]; by: 'tx' | 'global' }
  /** An error thrown in it goes no further. */
  | { caught: Step[] }
  /** The server ends the connection of the execution; or may do so, whatever the handler does meanwhile. */
  | { kills: 'at once' | 'meanwhile' }
  /** The connection is lost later, with COMMIT or its answer. */
  | { loses: Loss }
  /** A statement that fails in the server, and so does everything behind it. */
  | { breaks: 'tx' }
  | { ends: 'throw' | 'fail' };

export interface Write {
  write: keyof typeof WRITES;
  by: By;
  /** Its own, which its row has. */
  number: number;
  how: 'awaited' | 'sent, and not awaited' | 'never sent' | 'outside' | 'left behind';
}

/** `inner` is the client that the `$transaction` around it has given, `other` one of another pool. */
export type By = 'tx' | 'inner' | 'global' | 'other';

const row = (name: string) => ({ action: name, tenant: 't', principal: 'p' });

export const WRITES = {
  create: (db: Client, name: string) => db.auditRecord.create({ data: row(name) }),
  createMany: (db: Client, name: string) => db.auditRecord.createMany({ data: [row(name), row(name)] }),
  order: (db: Client, name: string) => db.order.create({ data: orderWithRefund(name) }),
  executeRaw: (db: Client, name: string) =>
    db.$executeRaw`INSERT INTO audit_records (action, tenant, principal) VALUES (${name}, 't', 'p')`,
  queryRaw: (db: Client, name: string) =>
    db.$queryRaw`INSERT INTO audit_records (action, tenant, principal) VALUES (${name}, 't', 'p') RETURNING 1 AS one`,
};

/** How many rows a write is: its own name is in each. */
export const rowsOf = ({ write }: Write) => (write === 'createMany' || write === 'order' ? 2 : 1);

/** Counts the rows of programs by their names, `<key>/<number>`. */
export const COUNT = `
SELECT name, count(*)::int AS rows
  FROM (SELECT action FROM audit_records
        UNION ALL SELECT principal FROM orders
        UNION ALL SELECT o.principal FROM orders o JOIN refunds r ON r.order_id = o.id) AS found(name)
 WHERE split_part(name, '/', 1) = ANY($1) GROUP BY name`;

const DEEPEST = 2;

/** The program of a source of random numbers. */
export function programOf(random: () => number): Step[] {
  const below = (limit: number) => Math.floor(random() * limit);
  const oneOf = <T>(all: readonly T[]): T => all[below(all.length)] as T;
  const chance = (of: number) => random() < of;
  let writes = 0;

  const write = (how: Write['how'], by: readonly By[]): Write => ({
    write: oneOf(Object.keys(WRITES) as (keyof typeof WRITES)[]),
    by: oneOf(by),
    number: writes++,
    how,
  });
  /** Where it is refused, it seldom shall end everything. */
  const mostlyCaught = (step: Step): Step => (chance(0.7) ? { caught: [step] } : step);
  const step = (depth: number): Step => {
    const kind = random();
    if (depth < DEEPEST && kind < 0.15) {
      const nested = { nested: steps(depth + 1, 3), by: oneOf(['tx', 'tx', 'global'] as const) };
      return chance(0.6) ? { caught: [nested] } : nested;
    }
    if (kind < 0.4) return write('awaited', ['tx', 'tx', 'inner']);
    if (kind < 0.55) return mostlyCaught(write('awaited', ['global', 'global', 'other']));
    if (kind < 0.65) return { read: oneOf(['count', 'findUnique', 'list']), by: oneOf(['tx', 'global', 'other']) };
    if (kind < 0.72) return write('outside', ['global', 'other']);
    if (kind < 0.82) return write('left behind', ['tx', 'inner', 'global', 'global', 'other']);
    if (kind < 0.88) return write('sent, and not awaited', ['tx', 'inner', 'global', 'other']);
    if (kind < 0.91) return write('never sent', ['tx', 'inner']);
    if (kind < 0.93) return { kills: oneOf(['at once', 'meanwhile']) };
    if (kind < 0.95) return { loses: oneOf(['COMMIT', 'its answer']) };
    if (kind < 0.965) return mostlyCaught({ breaks: 'tx' });
    return { ends: oneOf(['throw', 'throw', 'fail']) };
  };
  const steps = (depth: number, most: number): Step[] => Array.from({ length: 1 + below(most) }, () => step(depth));

  return steps(0, 7);
}

/** The same program with something left out, each way of it. */
export function* smaller(steps: readonly Step[]): Generator<Step[]> {
  for (const [at, step] of steps.entries()) {
    const having = (instead: readonly Step[]) => [...steps.slice(0, at), ...instead, ...steps.slice(at + 1)];
    yield having([]);
    const inner = innerOf(step);
    if (inner.length > 0) yield having(inner);
    for (const fewer of smaller(inner)) {
      yield having(['nested' in step ? { ...step, nested: fewer } : { caught: fewer }]);
    }
  }
}

const innerOf = (step: Step): Step[] => ('nested' in step ? step.nested : 'caught' in step ? step.caught : []);

export const needsKill = (steps: readonly Step[]): boolean =>
  steps.some((step) => 'kills' in step || needsKill(innerOf(step)));

/** As one would write it. */
export function codeOf(steps: readonly Step[], indent = ''): string {
  const block = (head: string, inner: readonly Step[], end: string) =>
    `${indent}${head} {\n${codeOf(inner, `${indent}  `)}${indent}}${end}\n`;
  return steps
    .map((step) => {
      if ('nested' in step) return block(`await ${step.by}.$transaction(async (inner) =>`, step.nested, ');');
      if ('caught' in step) return block('try', step.caught, ' catch {}');
      return `${indent}${lineOf(step)}\n`;
    })
    .join('');
}

function lineOf(step: Exclude<Step, { nested: Step[] } | { caught: Step[] }>): string {
  if ('read' in step) return `await ${step.by}.${step.read}();`;
  if ('kills' in step) return `${step.kills === 'at once' ? 'await' : 'void'} kill(connection);`;
  if ('loses' in step) return `await tx.$queryRawUnsafe('${announcing(step.loses)}');`;
  if ('breaks' in step) return 'await tx.$executeRaw`SELECT 1 / 0`;';
  if ('ends' in step) return step.ends === 'throw' ? "throw new Error('thrown');" : "fail('refused');";
  const query = `${step.by}.${step.write}(${step.number})`;
  const lines: Record<Write['how'], string> = {
    awaited: `await ${query};`,
    'sent, and not awaited': `void ${query}.then();`,
    'never sent': `${query};`,
    outside: `await outside(() => ${query});`,
    'left behind': `void ended.then(() => ${query});`,
  };
  return lines[step.how];
}
