import { describe, expect, test } from 'vitest';
import { hiddenStatements, type RoomStatement, statementsOfRoom } from './statements.fixture.ts';

// Where the tables are distributed over several machines, a statement that names every column of a key's scope finds its
// rows on one of them, whichever of the columns they are distributed by. See docs/deployment.md.

const KEY_TABLES = 'idempotency_(?:keys|phases|events|audit|things)';
const SCOPE = ['tenant', 'principal', 'operation', 'key'];

/** Statements that are not about one key, and why. */
const ABOUT_MANY_KEYS: Record<string, string> = {
  'keys/lease.ts TAKE_DUE': 'the completer: whatever is due',
  'keys/reap.ts REAP': 'the reaper: whatever is past its retention',
  'keys/reap.ts FLAG_UNANSWERED': 'the reaper: whatever no index holds',
  'keys/list.ts FLAG_UNLISTED': 'the completer: whatever no worker runs',
  'keys/overview.ts COUNT_OPEN': 'gauges: how much is open',
  'keys/overview.ts ABOUT': 'the admin view: what is open, and the size',
  'keys/overview.ts COUNT': 'the admin view: how many have settled',
  'keys/overview.ts ESTIMATE': 'the admin view: about how many have settled',
  'keys/list.ts HELD_FOREVER': 'the admin view: things whose keys are deleted',
  'keys/operate.ts ERASE': 'a person’s wish: all keys of one person, of which it names the tenant',
  'keys/operate.ts RECORD_ERASED': 'the same: a record for each of their names',
  'keys/tallies.ts ADD_REPEATS': 'counts: whatever keys were answered again, of which it names all columns',
  'keys/operate.ts REAP_AUDIT': 'the reaper: whatever is past its retention',
  'keys/claim.ts LOOK_FOR_THING': 'a thing: whoever did it, under whatever key; it names tenant and operation',
  'keys/read.ts FIND_HOLDER': 'the same',
  'keys/read.ts RECORD_FOLLOWER': 'the same: two keys, of which it names both',
  'keys/lost-keys.ts ENTER_WITH_THING': 'the same, in the part that looks whether the thing is free',
  'keys/list.ts 1': 'the admin view: a page of keys',
  'keys/list.ts 2': 'the admin view: a page of keys',
  'keys/list.ts 3': 'the admin view: a page of keys',
  'keys/list.ts 4': 'the admin view: a page of keys',
};

/** The same for the inbox, whose rows are named by source and event. */
const ABOUT_MANY_EVENTS: Record<string, string> = {
  'messages/inbox.ts TAKE_FAILED': 'what has failed and is due',
  'messages/reap.ts REAP_RECEIVED': 'the reaper',
  'messages/list.ts OPEN_RECEIVED': 'gauges',
  'messages/list.ts RECEIVED': 'the admin view: a page of events',
};

const BEGINS = /^\s*(WITH|SELECT|INSERT|UPDATE|DELETE)\b/;

/** The parts of a statement that touch these tables, each without the statements nested in it. */
function armsOf(text: string, tables: string): string[] {
  const bare = text.replace(/'[^']*'/g, "''"); // a parenthesis in a literal closes nothing
  const at = new RegExp(`\\b(?:FROM|JOIN|UPDATE|INTO)\\s+${tables}\\b`, 'g');
  return [...bare.matchAll(at)].map(({ index }) => armAt(bare, index));
}

function armAt(text: string, index: number): string {
  const groups = groupsOf(text).filter(({ from, to }) => BEGINS.test(text.slice(from, to)));
  const around = groups.filter(({ from, to }) => from <= index && index < to);
  const { from, to } = around.reduce((a, b) => (b.to - b.from < a.to - a.from ? b : a));
  let arm = text.slice(from, to);
  for (const inner of groups) {
    if (inner.from <= from || inner.to >= to) continue;
    const [start, end] = [inner.from - from, inner.to - from];
    arm = arm.slice(0, start) + ' '.repeat(end - start) + arm.slice(end);
  }
  return arm;
}

/** The whole text, and what stands in each pair of parentheses. */
function groupsOf(text: string): { from: number; to: number }[] {
  const groups = [{ from: 0, to: text.length }];
  const open: number[] = [];
  for (const [at, sign] of [...text].entries()) {
    if (sign === '(') open.push(at + 1);
    if (sign === ')') groups.push({ from: open.pop() ?? 0, to: at });
  }
  return groups;
}

function names(arm: string, columns: readonly string[]): boolean {
  if (/\bINSERT INTO\b/.test(arm)) {
    const parameters = columns.map((_, n) => `\\$${n + 1}(?:::\\w+)?`).join(',\\s*');
    const inserts = new RegExp(`\\(\\s*${columns.join(', ')}\\b[^)]*\\)\\s*(?:SELECT|VALUES \\()\\s*${parameters}`);
    return inserts.test(arm);
  }
  return columns.every((column) => new RegExp(`(?<!\\w)${column} = \\$\\d+`).test(arm));
}

/** The statements with a part that does not name what it touches. */
const unnamed = (statements: RoomStatement[], tables: string, columns: string[]) =>
  statements.filter(({ text }) => armsOf(text, tables).some((arm) => !names(arm, columns))).map(({ name }) => name);

const all = await statementsOfRoom();

describe('every statement names what it acts on', () => {
  test('there is none that this test does not see', () => {
    const elsewhere = hiddenStatements().filter((place) => !/^keys\/(list|complete)\.ts:/.test(place));
    expect(elsewhere).toEqual([]);
    expect(all.filter(({ text }) => armsOf(text, KEY_TABLES).length > 0).length).toBeGreaterThan(35);
  });

  test('a key: by tenant, principal, operation and key, in each of its parts', () => {
    expect(unnamed(all, KEY_TABLES, SCOPE).sort()).toEqual(Object.keys(ABOUT_MANY_KEYS).sort());
  });

  test('a received event: by its source and id', () => {
    expect(unnamed(all, 'inbox_events', ['source', 'event_id']).sort()).toEqual(Object.keys(ABOUT_MANY_EVENTS).sort());
  });

  test.each([
    ['one column short', 'SELECT 1 FROM idempotency_keys WHERE tenant = $1 AND principal = $2 AND key = $3'],
    [
      'named outside alone',
      `WITH a AS (SELECT 1 FROM idempotency_phases) SELECT 1 FROM idempotency_keys
        WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4`,
    ],
    [
      'named inside alone',
      `WITH a AS (SELECT 1 FROM idempotency_keys
        WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4) DELETE FROM idempotency_phases`,
    ],
    [
      'an insert from elsewhere',
      `INSERT INTO idempotency_events (tenant, principal, operation, key, type)
        SELECT $1, $2, operation, key, 'x' FROM gone`,
    ],
  ])('finds a statement that does not: %s', (_, text) => {
    expect(unnamed([{ name: 'planted', text }], KEY_TABLES, SCOPE)).toEqual(['planted']);
  });
});
