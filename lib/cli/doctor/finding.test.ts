import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { checkNamed, type Finding, report, reportForTerminal } from './finding.ts';

const FINDINGS: Finding[] = [
  {
    check: 'Tables',
    level: 'problem',
    says: 'The trigger is gone.',
    fix: 'npx oncekit doctor --sql | npx prisma db execute',
  },
  { check: 'Client', level: 'ok', says: 'It claims, completes and replays a key.' },
  {
    check: 'Scope',
    level: 'warning',
    says: 'Nobody may act yet.',
    fix: 'Return who acts from `scope` in lib/idempotency.ts.',
  },
];

test('a script gets one line for each, in the order of the checks', () => {
  expect(
    report(FINDINGS),
  ).toBe(`problem  Tables  The trigger is gone. Fix: npx oncekit doctor --sql | npx prisma db execute
ok       Client  It claims, completes and replays a key.
warning  Scope   Nobody may act yet. Fix: Return who acts from \`scope\` in lib/idempotency.ts.

1 problem, 1 warning, 1 ok.`);
});

test('a terminal gets lines of its width, what is wrong last, and commands that can be copied', () => {
  const shown = stripVTControlCharacters(reportForTerminal(FINDINGS, 50));
  expect(shown).toBe(`ok       Client  It claims, completes and replays
                 a key.
warning  Scope   Nobody may act yet.
                 Fix: Return who acts from \`scope\`
                 in lib/idempotency.ts.
problem  Tables  The trigger is gone.
                 Fix: npx oncekit doctor --sql | npx prisma db execute

1 problem, 1 warning, 1 ok.`);
});

test('a name in a finding, such as that of an operation in a table, begins no line of its own', () => {
  const { problem, ok } = checkNamed('Worker');
  expect(report([problem('1 key of gone\nok  Worker  All is well waits.', 'List it.')]).split('\n')).toHaveLength(3);
  expect(ok('One\u001b[2J').says).toBe('One?[2J');
});
