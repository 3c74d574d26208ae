import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { bound } from '../../../scripts/testing/patience.ts';
import { folders } from '../app/app.fixture.ts';
import { makeRunnableApp, runOncekit, startOncekit } from '../oncekit.fixture.ts';
import { type Broken, clinic, edit, healthy, MESSAGING, type Patient, runsInit, wrong } from './broken.fixture.ts';

// Each case breaks a real app in one way. Doctor must find that and nothing else, and nothing at all once its fix was carried
// out: what the fix says to write is what is written.

let doctor: Awaited<ReturnType<typeof clinic>>;
beforeAll(async () => {
  doctor = await clinic();
});
afterAll(() => doctor?.close());

const SET_UP = 'lib/idempotency.ts';
const STATUS = 'app/api/idempotency/[operation]/[key]/route.ts';
const CRON = 'app/api/cron/[task]/route.ts';
const PAGE = 'app/checkout/page.tsx';
const SECRET = 'a-secret-that-is-long-enough-for-it';

/** Exchanges a text in one file. */
const edits = (file: string, from: string | RegExp, to: string) => (patient: Patient) => {
  patient.files = edit(patient.files, file, from, to);
};
const adds = (files: Record<string, string>) => (patient: Patient) => {
  patient.files = { ...patient.files, ...files };
};
/** The same, where the fix says so. */
const writes =
  (said: string | RegExp, carryOut: (patient: Patient) => unknown) => async (patient: Patient, fix: string) => {
    expect(fix).toMatch(said);
    await carryOut(patient);
  };
/** Puts what `openssl rand -base64 32` prints in the place of a secret. */
const newSecret = (name = 'IDEMPOTENCY_SECRET') =>
  writes(/openssl rand -base64 32/, (patient) => {
    const made = execFileSync('openssl', ['rand', '-base64', '32'], { encoding: 'utf8' }).trim();
    patient.files = edit(patient.files, '.env', new RegExp(`^${name}=.*$`, 'm'), `${name}="${made}"`);
  });
/** Runs the command that the fix ends with, in the folder of the app. */
async function runsCommand(patient: Patient, fix: string) {
  const [, command = ''] = /: (echo .*)$/.exec(fix) ?? [];
  execFileSync('bash', ['-c', command], { cwd: patient.root });
  patient.files['.env'] = execFileSync('cat', ['.env'], { cwd: patient.root, encoding: 'utf8' });
}
const setsSecret = (value: string) => edits('.env', SECRET, value);
const withOutbox = (more = '') => adds({ 'lib/messaging.ts': MESSAGING + more });

const BROKEN: Broken[] = [
  {
    of: 'a scope that is still closed',
    breaks: edits(SET_UP, /scope: async \(\) => \{[\s\S]*?\n {2}\},/, 'scope: async () => null,'),
    found: ['Scope', 'warning', 'Nobody may act yet: scope() returns null'],
    mend: writes(
      'Return who acts from `scope` in lib/idempotency.ts.',
      edits(SET_UP, '=> null', "=> ({ tenant: 'main', principal: 'ann' })"),
    ),
  },
  {
    of: 'a scope that throws, and not for want of a request',
    breaks: edits(SET_UP, '(await cookies())', '(undefined as any)'),
    found: ['Scope', 'warning', /throws where there is no request, and not because of that: TypeError: Cannot read/],
    mend: writes(
      'return null where it finds nobody',
      edits(SET_UP, '(undefined as any).get', '(undefined as any)?.get'),
    ),
  },
  {
    of: 'a scope that names nobody',
    breaks: edits(SET_UP, /scope: async[\s\S]*?\n {2}\},/, "scope: async () => ({ tenant: 'main', principal: '' }),"),
    found: ['Scope', 'problem', "The scope's principal cannot be used."],
    mend: writes(/^Return { principal }, /, edits(SET_UP, "principal: ''", "principal: 'ann'")),
  },
  {
    of: 'no secret',
    breaks: edits('.env', /IDEMPOTENCY_SECRET=.*\n/, ''),
    found: ['Secret', 'problem', 'IDEMPOTENCY_SECRET is not set'],
    mend: runsCommand,
  },
  {
    of: 'no cron secret, beside a cron route',
    breaks: edits('.env', /CRON_SECRET=.*\n/, ''),
    found: ['Cron secret', 'warning', 'CRON_SECRET is not set'],
    mend: runsCommand,
  },
  {
    of: 'a NODE_ENV that a worker would read',
    breaks: edits('.env', /$/, 'NODE_ENV=development\n'),
    found: ['NODE_ENV', 'warning', '.env says NODE_ENV=development: a worker that reads it is not production.'],
    mend: writes('Take it out of .env.', edits('.env', 'NODE_ENV=development\n', '')),
  },
  {
    of: 'a secret that is too short',
    breaks: setsSecret('too-short'),
    found: ['Secret', 'problem', 'IDEMPOTENCY_SECRET is shorter than 32 characters'],
    mend: newSecret(),
  },
  {
    of: 'a secret that repeats itself',
    breaks: setsSecret('changeme'.repeat(5)),
    found: ['Secret', 'problem', 'IDEMPOTENCY_SECRET repeats itself'],
    mend: newSecret(),
  },
  {
    of: 'a secret out of an example',
    breaks: setsSecret('your-own-secret-goes-here-at-least-32-characters'),
    found: ['Secret', 'problem', 'IDEMPOTENCY_SECRET reads like an example'],
    mend: newSecret(),
  },
  {
    of: 'the secret of .env.example',
    breaks: adds({ '.env.example': `IDEMPOTENCY_SECRET='${SECRET}'\n` }),
    found: ['Secret', 'problem', 'IDEMPOTENCY_SECRET is the one of .env.example'],
    mend: newSecret(),
  },
  {
    of: 'one secret for sessions and keys',
    breaks: edits('.env', /$/, `AUTH_SECRET=${SECRET}\n`),
    found: ['Secret', 'problem', 'IDEMPOTENCY_SECRET and AUTH_SECRET are one secret'],
    mend: newSecret(),
  },
  {
    of: 'keys that are signed with the secret of sessions',
    breaks: (patient) => {
      edits(SET_UP, 'process.env.IDEMPOTENCY_SECRET', 'process.env.SESSION_SECRET')(patient);
      edits('.env', /$/, `SESSION_SECRET=${'another-secret-that-is-long-enough'}\n`)(patient);
    },
    found: ['Secret', 'problem', 'SESSION_SECRET signs keys, and has another purpose'],
    mend: writes(
      'Give keys a secret of their own, IDEMPOTENCY_SECRET',
      edits(SET_UP, 'process.env.SESSION_SECRET', 'process.env.IDEMPOTENCY_SECRET'),
    ),
  },
  {
    of: 'a secret in the code',
    breaks: edits(SET_UP, /secret: .*/, "secret: ['a-secret-that-is-written-down-here'],"),
    found: ['Secret', 'problem', /^A secret stands in lib\/idempotency\.ts:\d+: whoever has the code can sign keys\.$/],
    mend: writes(
      'Write there process.env.IDEMPOTENCY_SECRET',
      edits(SET_UP, "'a-secret-that-is-written-down-here'", 'process.env.IDEMPOTENCY_SECRET'),
    ),
  },
  {
    of: 'a set-up that is given no secret',
    breaks: edits(SET_UP, 'secret:', '// secret:'),
    found: [
      'Secret',
      'problem',
      'lib/idempotency.ts gives createIdempotency no secret, though IDEMPOTENCY_SECRET is set',
    ],
    mend: async (patient, fix) => {
      expect(fix).toBe('Write there: secret: process.env.IDEMPOTENCY_SECRET,');
      const [, line = ''] = /^Write there: (secret: .*)$/.exec(fix) ?? [];
      edits(SET_UP, /\/\/ secret: .*/, line)(patient);
    },
  },
  {
    of: 'a secret that is in git',
    breaks: (patient) => {
      patient.root = mkdtempSync(path.join(tmpdir(), 'oncekit-git-'));
      writeFileSync(path.join(patient.root, '.env'), `${patient.files['.env']}`);
      const git = (...args: string[]) =>
        execFileSync('git', ['-c', 'user.name=ann', '-c', 'user.email=ann@example.com', ...args], {
          cwd: patient.root,
          stdio: 'ignore',
        });
      git('init');
      git('add', '.env');
      git('commit', '-m', 'All of it');
    },
    found: ['Secret', 'problem', '.env is in git with IDEMPOTENCY_SECRET'],
    mend: async (patient, fix) => {
      const [commands = ''] = fix.split('; then ');
      execFileSync('bash', ['-c', commands], { cwd: patient.root, stdio: 'ignore' });
      await newSecret()(patient, fix);
    },
  },
  {
    of: 'one secret for two purposes of the kit',
    breaks: edits('.env', 'another-one-that-is-long-enough', SECRET),
    found: ['Cron secret', 'problem', 'CRON_SECRET is IDEMPOTENCY_SECRET as well'],
    mend: newSecret('CRON_SECRET'),
  },
  {
    of: 'two operations of one name, in two files',
    breaks: (patient) => {
      adds({ 'lib/other.ts': `${patient.files['lib/checkout.ts']}`.replace('const checkout', 'const other') })(patient);
      edits(
        'lib/operations.ts',
        /[\s\S]+/,
        "import { checkout } from './checkout';\nimport { other } from './other';\nexport const operations = [checkout, other] as const;\n",
      )(patient);
    },
    found: ['Operations', 'problem', 'lib/checkout.ts:4 and lib/other.ts:4 both define checkout'],
    mend: async (patient, fix) => {
      const [, name = ''] = /(name: '[^']+')/.exec(fix) ?? [];
      edits('lib/other.ts', "name: 'checkout'", name)(patient);
    },
  },
  {
    of: 'an operation that is not listed',
    breaks: edits('lib/operations.ts', '[checkout]', '[]'),
    found: ['Operations', 'problem', 'checkout (lib/checkout.ts:4) is not listed'],
    mend: writes('Add it to `operations` in lib/operations.ts.', edits('lib/operations.ts', '[]', '[checkout]')),
  },
  {
    of: 'a page on the edge, by the action that it calls',
    breaks: edits(PAGE, /^/, "export const runtime = 'edge';\n"),
    found: ['Runtime', 'problem', "app/checkout/page.tsx:1 says runtime = 'edge', and uses the kit"],
    mend: writes('Remove that line.', edits(PAGE, /export const runtime.*\n/, '')),
  },
  {
    of: 'a layout on the edge, with a page below it that uses the kit by another file',
    breaks: adds({
      'app/shop/layout.tsx': "export const runtime = 'edge';\nexport default ({ children }) => children;\n",
      'app/shop/buy/page.tsx':
        "import { placeOrder } from '../../checkout/actions';\nexport default () => <form action={placeOrder} />;\n",
    }),
    found: [
      'Runtime',
      'problem',
      "app/shop/layout.tsx:1 says runtime = 'edge', and app/shop/buy/page.tsx below it uses the kit by app/checkout/actions.ts",
    ],
    mend: writes('Remove that line.', edits('app/shop/layout.tsx', /export const runtime.*\n/, '')),
  },
  {
    of: 'no status route',
    breaks: ({ files }) => {
      delete files[STATUS];
    },
    found: ['Status route', 'problem', 'There is none'],
    mend: writes(/^npx oncekit init$/, runsInit),
  },
  {
    of: 'a status route that gives nothing up',
    breaks: edits(STATUS, 'GET, DELETE', 'GET'),
    found: ['Status route', 'problem', 'exports no DELETE: a form can give no key up.'],
    mend: async (patient, fix) => {
      const [, line = ''] = /^Write there: (.*)$/.exec(fix) ?? [];
      edits(STATUS, /export const [\s\S]+/, `${line}\n`)(patient);
    },
  },
  {
    of: 'a status route elsewhere',
    breaks: (patient) => {
      adds({ 'app/(api)/once/[operation]/[key]/route.ts': `${patient.files[STATUS]}` })(patient);
      delete patient.files[STATUS];
    },
    found: [
      'Status route',
      'problem',
      'app/(api)/once/[operation]/[key]/route.ts answers at /once, and forms ask at /api/idempotency.',
    ],
    mend: (patient, fix) => {
      const [, to = ''] = /^Move it to (.*)\.$/.exec(fix) ?? [];
      const from = 'app/(api)/once/[operation]/[key]/route.ts';
      adds({ [to]: `${patient.files[from]}` })(patient);
      delete patient.files[from];
    },
  },
  {
    of: 'a form that asks past the base path',
    breaks: (patient) => {
      adds({ 'next.config.ts': "export default { basePath: '/shop' };\n" })(patient);
      edits(PAGE, 'intent=', 'statusUrl="/api/idempotency" intent=')(patient);
    },
    found: [
      'Status route',
      'problem',
      'app/checkout/page.tsx:6 asks at /api/idempotency, and the status route answers at /shop/api/idempotency.',
    ],
    mend: writes('Remove statusUrl there', edits(PAGE, 'statusUrl="/api/idempotency" ', '')),
  },
  {
    of: 'a cron job that calls past the base path',
    breaks: adds({
      'next.config.ts': "export default { basePath: '/shop' };\n",
      'vercel.json': '{ "crons": [{ "path": "/api/cron/reap", "schedule": "0 * * * *" }] }',
    }),
    found: [
      'Cron route',
      'problem',
      'vercel.json calls /api/cron/reap, and the cron route answers at /shop/api/cron/<task>.',
    ],
    mend: async (patient, fix) => {
      const [, line = ''] = /^Write in vercel.json: (.*)$/.exec(fix) ?? [];
      edits('vercel.json', /"path": "[^"]*"/, line)(patient);
    },
  },
  {
    of: 'a cron route without a secret',
    breaks: edits(CRON, /cronRoute\(.*\)/, 'cronRoute(idempotency, {} as never)'),
    found: ['Cron route', 'problem', 'has no secret, so it stays closed.'],
    mend: async (patient, fix) => {
      const [, call = ''] = /^Write there: (.*)$/.exec(fix) ?? [];
      edits(CRON, /cronRoute\(.*\)/, call)(patient);
    },
  },
  {
    of: 'an outbox that nobody relays',
    breaks: (patient) => {
      withOutbox()(patient);
      edits(CRON, 'cronRoute(idempotency', 'cronRoute({ ...idempotency, outbox }')(patient);
    },
    found: [
      'Worker',
      'warning',
      'No worker was seen in the last 90 s, and nothing calls /api/cron/relay: nobody sends the events of the outbox.',
    ],
    mend: writes(
      'have vercel.json call /api/cron/relay each minute',
      adds({ 'vercel.json': '{ "crons": [{ "path": "/api/cron/relay", "schedule": "* * * * *" }] }' }),
    ),
  },
  {
    of: 'a cron route that is given no outbox',
    breaks: (patient) => {
      withOutbox()(patient);
      adds({ 'vercel.json': '{ "crons": [{ "path": "/api/cron/relay" }] }' })(patient);
    },
    found: ['Cron route', 'warning', 'is given no outbox'],
    mend: (patient, fix) => {
      const [, file, call = ''] = /^Import outbox of (\S+)\.ts there, and write: (.*)$/.exec(fix) ?? [];
      edits(CRON, /cronRoute\(.*\)/, call)(patient);
      edits(CRON, /^/, `import { outbox } from '../../../../${file}';\n`)(patient);
    },
  },
  {
    of: 'an outbox that no worker can import',
    breaks: adds({ 'lib/shop.ts': MESSAGING.replace('export const outbox', 'const outbox') }),
    found: ['Outbox', 'problem', 'lib/shop.ts does not export its outbox'],
    mend: (patient, fix) => {
      const [, line = ''] = /^Write there: (export const outbox = createOutbox\()/.exec(fix) ?? [];
      edits('lib/shop.ts', 'const outbox = createOutbox(', line)(patient);
      edits(CRON, 'cronRoute(idempotency', 'cronRoute({ ...idempotency, outbox }')(patient);
      adds({ 'vercel.json': '{ "crons": [{ "path": "/api/cron/relay" }] }' })(patient);
    },
  },
  {
    of: 'a webhook to any address',
    breaks: adds({
      'lib/hooks.ts':
        "import { webhook } from 'oncekit/messaging';\nexport const to = (customer) => webhook({ url: customer.url, secrets: [] });\n",
    }),
    found: ['Webhooks', 'warning', 'lib/hooks.ts:2 sends to a URL that is not fixed.'],
    mend: (patient, fix) => {
      const [, option = ''] = /(allowAddress: isPublicAddress)/.exec(fix) ?? [];
      edits('lib/hooks.ts', 'secrets: []', `secrets: [], ${option}`)(patient);
    },
  },
  {
    of: 'a page that issues one key for all',
    breaks: edits(PAGE, 'export default', 'const key = issueKey(checkout);\nexport default'),
    found: ['Pages', 'problem', 'app/checkout/page.tsx:5 issues a key once for all visitors.'],
    mend: writes('Call issueKey inside the page component', edits(PAGE, 'const key = issueKey(checkout);\n', '')),
  },
  {
    of: 'a page that is static',
    breaks: edits(PAGE, /$/, "export const dynamic = 'force-static';\n"),
    found: ['Pages', 'problem', "says dynamic = 'force-static'"],
    mend: writes('Remove that line.', edits(PAGE, /export const dynamic.*\n/, '')),
  },
  {
    of: 'a client on a pool that is not the kit’s',
    breaks: edits(
      'lib/prisma.ts',
      /[\s\S]+/,
      `import { PrismaPg } from '@prisma/adapter-pg';
import { createClient } from '${new URL('../../../shop/db.ts', import.meta.url).pathname}';
const adapter = new PrismaPg({ connectionString: process.env.DATABASE_URL });
export const prisma = createClient(process.env.DATABASE_URL as string, { adapter });
`,
    ),
    found: ['Transaction', 'warning', "Prisma's interactive one"],
    mend: (patient, fix) => {
      const [, from = ''] = /use PrismaPg (from '[^']+')/.exec(fix) ?? [];
      edits('lib/prisma.ts', "from '@prisma/adapter-pg'", from)(patient);
    },
  },
  {
    of: 'a window that was raised too soon',
    breaks: async (patient) => {
      await patient.sql(`INSERT INTO idempotency_keys (operation, key, principal, tenant, state, settled_at, expires_at)
        VALUES ('c', 'k', 'b', 'a', 'succeeded', now(), now() + interval '25 h')`);
      edits(SET_UP, 'prisma,', "prisma,\n  window: '48h',")(patient);
    },
    found: ['Window', 'problem', 'some rows are kept for 25 h only'],
    mend: writes(
      'Put the window back to 24 h, raise the retention',
      edits(SET_UP, "window: '48h'", "window: '24h', retention: '49h'"),
    ),
  },
  {
    of: 'events for a destination that is gone',
    breaks: async (patient) => {
      withOutbox()(patient);
      edits(CRON, 'cronRoute(idempotency', 'cronRoute({ ...idempotency, outbox }')(patient);
      adds({ 'vercel.json': '{ "crons": [{ "path": "/api/cron/relay" }] }' })(patient);
      await patient.sql(`INSERT INTO outbox_events VALUES (gen_random_uuid(), 'a', 1, 't', '{}', '{}', 'd', now());
        INSERT INTO outbox_deliveries (event_id, destination, aggregate, sequence, next_attempt_at)
        SELECT id, 'erp', 'a', 1, now() - interval '1 h' FROM outbox_events`);
    },
    found: ['Worker', 'problem', '1 event waits for erp, a destination that the outbox does not have.'],
    mend: async (patient, fix) => {
      const [, args = ''] = /npx oncekit (messages .*)$/.exec(fix) ?? [];
      const env = { DATABASE_URL: patient.database.url };
      expect(await runOncekit(args.split(' '), { cwd: patient.root, env })).toMatchObject({ code: 0 });
    },
  },
  {
    of: 'a kept event of a source without a handle',
    breaks: async (patient) => {
      const inbox =
        'export const inbox = createInbox({ prisma, sources: { crm: { handle: async () => {} }, bank: {} } });\n';
      withOutbox(inbox)(patient);
      edits(CRON, 'cronRoute(idempotency', 'cronRoute({ ...idempotency, outbox, inbox }')(patient);
      adds({ 'vercel.json': '{ "crons": [{ "path": "/api/cron/relay" }, { "path": "/api/cron/inbox" }] }' })(patient);
      await patient.sql(`INSERT INTO inbox_events (source, event_id, state, payload_hash, payload, next_attempt_at)
        SELECT source, 'evt', 'failed', sha256(''), payload, now() + interval '1 h'
          FROM (VALUES ('bank', '{}'), ('crm', '{}'), ('erp', NULL)) AS received (source, payload)`);
    },
    found: [
      'Worker',
      'problem',
      '1 received event of bank is kept to be run again, and the inbox has no `handle` for bank.',
    ],
    mend: writes(
      /sources: (\{ bank: \{ handle)/,
      edits('lib/messaging.ts', 'bank: {}', 'bank: { handle: async () => {} }'),
    ),
  },
  {
    of: 'a set-up whose retention is too short',
    breaks: edits(SET_UP, 'prisma,', "prisma,\n  retention: '2h',"),
    found: ['App', 'problem', 'Rows would be deleted while their keys may still be used.'],
    mend: writes(
      'a retention of at least the window plus 15 min',
      edits(SET_UP, "retention: '2h'", "retention: '25h'"),
    ),
  },
  {
    of: 'an app without init',
    breaks: ({ files }) => {
      delete files[SET_UP];
    },
    found: ['App', 'problem', 'There is no lib/idempotency.ts'],
    mend: writes(/^npx oncekit init makes it\./, async (patient) => {
      await runsInit(patient);
      edits(SET_UP, '=> null', "=> ({ tenant: 'main', principal: 'ann' })")(patient);
    }),
  },
];

test.each(BROKEN.map((each) => [each.of, each] as const))(
  '%s',
  async (_, broken) => {
    await doctor.treat(broken);
  },
  60_000,
);

test('a scope that needs a request is as it should be, and one that needs none tells how it calls everybody', async () => {
  const patient = await doctor.admit();
  const scope = async () => (await doctor.examine(patient)).find(({ check }) => check === 'Scope');
  try {
    expect(await scope()).toMatchObject({ level: 'ok', says: 'lib/idempotency.ts says who acts, by the request.' });
    edits(
      SET_UP,
      /scope: async[\s\S]*?\n {2}\},/,
      "scope: async () => ({ tenant: 'main', principal: 'everybody' }),",
    )(patient);
    expect(await scope()).toMatchObject({ level: 'ok', says: expect.stringContaining('calls everybody everybody') });
  } finally {
    await patient.database.drop();
  }
});

test('an inbox without sources, as an admin view has it, says nothing of who runs the events of others', async () => {
  const patient = await doctor.admit();
  try {
    withOutbox('export const inbox = createInbox({ prisma });\n')(patient);
    await patient.sql(`INSERT INTO inbox_events (source, event_id, state, payload_hash, payload, next_attempt_at)
      VALUES ('bank', 'evt', 'failed', sha256(''), '{}', now() + interval '1 h')`);
    const work = (await doctor.examine(patient)).filter(({ check }) => check === 'Worker');
    expect(work.map(({ says }) => says).filter((says) => says.includes('handle'))).toEqual([]);
  } finally {
    await patient.database.drop();
  }
});

test('the command: a worker that runs is seen, --json is a list, and the exit code tells of problems', async () => {
  const made = folders();
  const patient = await doctor.admit();
  const env = { DATABASE_URL: patient.database.url, NODE_ENV: undefined };
  const app = makeRunnableApp(made, { ...healthy(), 'lib/messaging.ts': MESSAGING });
  rmSync(path.join(app, CRON));
  const worker = startOncekit(['worker'], { cwd: app, env: { ...env, NODE_ENV: 'production' } });
  try {
    await vi.waitFor(() => expect(worker.output()).toContain('The worker runs.'), {
      timeout: bound(40_000),
      interval: 50,
    });
    await vi.waitFor(async () => {
      const { code, out } = await runOncekit(['doctor', '--json'], { cwd: app, env });
      const findings = JSON.parse(out);
      expect(wrong(findings).filter(({ says }) => !says.startsWith('fsync'))).toEqual([]);
      expect(findings).toContainEqual({ check: 'Worker', level: 'ok', says: expect.stringMatching(/^One was seen/) });
      expect(code).toBe(0);
    }, bound(100_000));
    await patient.sql('ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey');
    const broken = await runOncekit(['doctor'], { cwd: app, env });
    expect(broken).toMatchObject({
      code: 1,
      err: '',
      out: expect.stringMatching(/\n1 problem, \d warnings?, \d+ ok\.\n$/),
    });
    expect(broken.out).toMatch(/^problem {2}Tables +Nothing keeps a key from running twice: .* Fix: ALTER TABLE /m);
  } finally {
    await worker.stop();
    made.remove();
    await patient.database.drop();
  }
}, 180_000);
