/**
 * Random handlers, as data, so that one can be run in two modes, printed and made smaller. What a seed gives stays the same
 * for as long as this file does.
 */

/** The act of a handler's query; `ambient-fuzz-queries.fixture.ts` says how. */
export interface Query {
  query: SlotRead | SlotWrite | WideRead | WideWrite;
  /** Which of its few rows. Few, so that it meets what it has written before. */
  slot: number;
  value: number;
}

export type Step =
  | Query
  /** `tx.$transaction(fn)`: a savepoint, in both modes. `outer`: its queries go through the tx around it. */
  | { nested: Step[]; via: 'inner' | 'outer' }
  /** An error thrown in it goes no further. */
  | { attempt: Step[] }
  /** Branches that run at once; where one fails, the others are waited for, or left behind. */
  | { together: Query[][]; leaves: 'nobody' | 'the others' }
  | { throws: number }
  | { refuses: number }
  | { captures: string; by: Query | undefined }
  /** Lets other executions come in between. */
  | { pauses: 'a tick' | 'a turn' };

export interface Program {
  steps: Step[];
  /** The acts of `onRefused`, where the handler ends in a refusal. */
  onRefused: Step[];
  isolationLevel: 'ReadCommitted' | 'RepeatableRead';
  /** True if it is run on a client with extensions. */
  isExtended: boolean;
  /** True if it is run again where it was rolled back: only some are, for that takes as long as the first time. */
  isRunAgain: boolean;
}

type SlotRead = 'findUnique' | 'findUniqueOrThrow' | 'findFirst' | 'rawRead' | 'readOrder';
type SlotWrite =
  | 'create'
  | 'update'
  | 'upsert'
  | 'delete'
  | 'rawUpdate'
  | 'rawInsert'
  | 'createOrder'
  | 'createBrokenOrder'
  | 'updateOrder'
  | 'moveOrder'
  | 'deleteOrder'
  | 'orphan'
  | 'divide';
type WideRead = 'findMany' | 'count' | 'aggregate' | 'rawCount';
type WideWrite = 'createMany' | 'createManyAndReturn' | 'updateMany' | 'deleteMany' | 'rawUpdateAll';

const SLOT_READS: readonly SlotRead[] = [
  ...(['findUnique', 'findUnique', 'findUniqueOrThrow', 'findFirst', 'rawRead', 'readOrder'] as const),
];
const WIDE_READS: readonly WideRead[] = ['findMany', 'count', 'aggregate', 'rawCount'];
const SLOT_WRITES: readonly SlotWrite[] = [
  ...(['create', 'create', 'update', 'upsert', 'upsert', 'delete', 'rawUpdate', 'rawInsert'] as const),
  ...(['createOrder', 'createOrder', 'createBrokenOrder', 'updateOrder', 'moveOrder', 'deleteOrder'] as const),
  ...(['orphan', 'divide'] as const),
];
const WIDE_WRITES: readonly WideWrite[] = [
  'createMany',
  'createManyAndReturn',
  'updateMany',
  'deleteMany',
  'rawUpdateAll',
];
/** They never fail, so that branches come to an end together often enough. */
const HARMLESS = ['upsert', 'rawUpdate', 'findUnique', 'findFirst', 'rawRead', 'readOrder'] as const;
const SLOTS = 3;
const DEEPEST = 3;

/**
 * The program of a source of random numbers.
 *
 * Left out, because the modes differ there by design:
 * - nested transactions at once, which Prisma refuses, and of which ours wait for each other;
 * - a branch beside an open nested transaction, whose queries Prisma may roll back with it, and ours wait;
 * - the global client, whose queries are outside Prisma's transaction and inside ours;
 * - `tx.$transaction([…])`, whose queries Prisma sends outside the transaction, and commits;
 * - what is left of branches of which one has failed: Prisma sends the queries of one tick in turn, and none behind one that
 *   has failed, and ours are sent by themselves (`perform` lets the transaction around them end);
 * - a nested transaction that swallows a failed statement and returns: Prisma ends the whole transaction, ours the nested
 *   one alone (`perform` lets such a one throw);
 * - the isolation level Serializable, under which programs that share no row may still conflict, and run again.
 */
export function programOf(random: () => number): Program {
  const below = (limit: number) => Math.floor(random() * limit);
  const oneOf = <T>(all: readonly T[]): T => all[below(all.length)] as T;
  const chance = (of: number) => random() < of;

  const queryOf = (kinds: readonly Query['query'][], slot = below(SLOTS)): Query => {
    return { query: oneOf(kinds), slot, value: 1 + below(3) };
  };
  const anyQuery = () => queryOf(oneOf([SLOT_READS, SLOT_WRITES, SLOT_WRITES, WIDE_READS, WIDE_WRITES]));
  const listOf = <T>(least: number, most: number, make: (n: number) => T): T[] =>
    Array.from({ length: least + below(most - least + 1) }, (_, n) => make(n));

  // Each has a row of its own, or all of them only read: what they see does not depend on who comes first.
  const branches = (): Query[][] => {
    const onlyRead = chance(0.3);
    return listOf(2, SLOTS, (slot) =>
      listOf(1, 3, () =>
        onlyRead ? queryOf([...SLOT_READS, ...WIDE_READS]) : queryOf(chance(0.2) ? SLOT_WRITES : HARMLESS, slot),
      ),
    );
  };
  // What the branches that are left behind still do depends on when they are: nothing of it may be committed.
  const step = (depth: number, isCaught: boolean): Step => {
    const kind = random();
    if (depth < DEEPEST) {
      if (kind < 0.13) return { nested: steps(depth + 1, isCaught), via: chance(0.25) ? 'outer' : 'inner' };
      if (kind < 0.25) return { attempt: steps(depth + 1, true) };
      // The common one of the two, close together.
      if (kind < 0.35) return { attempt: [{ nested: [...steps(depth + 2, true), end()], via: 'inner' }] };
    }
    if (kind < 0.46) return { together: branches(), leaves: isCaught || chance(0.5) ? 'nobody' : 'the others' };
    if (kind < 0.48) return { throws: below(9) };
    if (kind < 0.5) return { refuses: below(9) };
    if (kind < 0.54)
      return { captures: `value ${below(2)}`, by: chance(0.5) ? queryOf(['count', 'findFirst']) : undefined };
    if (kind < 0.58) return { pauses: chance(0.5) ? 'a tick' : 'a turn' };
    const query = anyQuery();
    if (depth === DEEPEST || chance(0.5)) return query;
    return { attempt: [chance(0.7) ? { nested: [query], via: 'inner' } : query] };
  };
  const end = (): Step => (chance(0.5) ? { throws: below(9) } : anyQuery());
  const steps = (depth: number, isCaught: boolean): Step[] =>
    listOf(1, depth === 0 ? 5 : 3, () => step(depth, isCaught));

  // Something to find, and not always in its way.
  const there = [queryOf(['upsert'], 0), queryOf(['createOrder'], 1), queryOf(['createOrder'], 2)].filter(() =>
    chance(0.6),
  );
  return {
    steps: [...there, ...steps(0, false)],
    onRefused: chance(0.5) ? [anyQuery()] : [],
    isolationLevel: chance(0.8) ? 'ReadCommitted' : 'RepeatableRead',
    isExtended: chance(0.3),
    isRunAgain: chance(0.25),
  };
}

/** The same program with something left out, each way of it. */
export function* smaller({ steps, ...rest }: Program): Generator<Program> {
  for (const fewer of smallerSteps(steps)) yield { ...rest, steps: fewer };
  if (rest.onRefused.length > 0) yield { ...rest, steps, onRefused: [] };
  if (rest.isExtended) yield { ...rest, steps, isExtended: false };
}

function* smallerSteps(steps: readonly Step[]): Generator<Step[]> {
  for (const [at, step] of steps.entries()) {
    const having = (instead: readonly Step[]) => [...steps.slice(0, at), ...instead, ...steps.slice(at + 1)];
    yield having([]);
    const inner = 'nested' in step ? step.nested : 'attempt' in step ? step.attempt : [];
    if (inner.length > 0) yield having(inner);
    for (const fewer of smallerSteps(inner)) {
      yield having(['nested' in step ? { ...step, nested: fewer } : { attempt: fewer }]);
    }
    if ('together' in step) for (const branch of step.together) yield having(branch);
  }
}

/** As one would write it. */
export function codeOf({ steps, onRefused, isolationLevel, isExtended, isRunAgain }: Program): string {
  const head = `// ${isolationLevel}${isExtended ? ', on a client with extensions' : ''}${isRunAgain ? ', run again' : ''}`;
  const tail = onRefused.length > 0 ? ['onRefused:', ...linesOf(onRefused, '  ')] : [];
  return [head, ...linesOf(steps, ''), ...tail].join('\n');
}

function linesOf(steps: readonly Step[], indent: string): string[] {
  const block = (head: string, inner: readonly Step[], end: string) => [
    `${indent}${head} {`,
    ...linesOf(inner, `${indent}  `),
    `${indent}}${end}`,
  ];
  return steps.flatMap((step) => {
    if ('query' in step) return `${indent}${step.query}(row ${step.slot}, ${step.value});`;
    if ('nested' in step) {
      return block(`await tx.$transaction(async (${step.via === 'inner' ? 'tx' : 'unused'}) =>`, step.nested, ');');
    }
    if ('attempt' in step) return block('try', step.attempt, ' catch {}');
    if ('together' in step) {
      const head = `await Promise.${step.leaves === 'nobody' ? 'allSettled' : 'all'}([`;
      return [
        `${indent}${head}`,
        ...step.together.flatMap((branch) => block('  async () =>', branch, ',')),
        `${indent}]);`,
      ];
    }
    if ('throws' in step) return `${indent}throw new Error('${step.throws}');`;
    if ('refuses' in step) return `${indent}fail('refused', ${step.refuses});`;
    if ('captures' in step) return `${indent}capture('${step.captures}', ${step.by?.query ?? "'a value'"});`;
    return `${indent}// lets ${step.pauses} pass`;
  });
}
