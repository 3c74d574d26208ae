/**
 * The arrows between the rooms. `npm run map` holds the drawing in `ARCHITECTURE.md` to them, and `rooms.test.ts` plants
 * violations and sees them found.
 */
const tests = '\\.(test|test-d|testsuite|fixture|child|browser\\.test)\\.tsx?$';

/**
 * Each room `may` import, of this repository, these rooms or files beside itself, and of npm these packages; any package where there is
 * no `npm`.
 */
export const rooms = {
  app: { may: ['components', 'shop', 'entries'] },
  components: { may: ['shop', 'entries'] },
  shop: { may: ['entries'] },
  simulators: { may: [] },
  'lib/index.ts': { may: ['lib/core', 'lib/engine', 'lib/store', 'lib/store/prisma'] },
  'lib/next': {
    may: ['lib/core', 'lib/engine', 'lib/http', 'lib/react', 'lib/worker/passes.ts'],
    npm: ['next', 'react'],
  },
  'lib/react': { may: ['lib/core'], npm: ['react'] },
  'lib/http': { may: ['lib/core'], npm: [] },
  'lib/cli': {
    may: ['lib/core', 'lib/engine', 'lib/store', 'lib/store/prisma', 'lib/messaging', 'lib/worker', 'lib/admin'],
    npm: ['diff', 'pg'],
  },
  'lib/admin': { may: ['lib/core', 'lib/telemetry', 'lib/engine', 'lib/store', 'lib/store/prisma', 'lib/messaging'] },
  'lib/worker': { may: ['lib/core', 'lib/engine', 'lib/store', 'lib/store/prisma', 'lib/messaging'] },
  'lib/messaging': { may: ['lib/core', 'lib/telemetry', 'lib/store', 'lib/store/prisma'] },
  'lib/stripe': { may: ['lib/core', 'lib/engine'], npm: [] },
  'lib/adapter-pg': { may: ['lib/store/prisma'], npm: ['@prisma/adapter-pg'] },
  'lib/engine': { may: ['lib/core', 'lib/telemetry', 'lib/store'], npm: ['devalue'] },
  'lib/store/prisma': { may: ['lib/core', 'lib/store'], npm: ['@prisma/client'] },
  'lib/store': { may: ['lib/core'], npm: [] },
  'lib/telemetry': { may: [], npm: ['@opentelemetry/api'] },
  'lib/testing': { may: ['lib/core'] },
  'lib/core': { may: [], npm: ['canonicalize', 'cockatiel', 'devalue'] },
};

/** Matches the files of a room, or the one file that is named. `entries`: the kit's public ones. */
function filesOf(room) {
  if (room === 'entries') return ['^lib/index\\.ts$', '^lib/[a-z-]+/index\\.ts$'];
  if (room === 'lib/store') return ['^lib/store/(?!prisma/)'];
  return [room.endsWith('.ts') ? `^${room.replace('.', '\\.')}$` : `^${room}/`];
}

function rulesOf([room, { may, npm }]) {
  const name = room
    .replace(/^lib\//, '')
    .replace('.ts', '')
    .replace('/', '-');
  const from = { path: filesOf(room), pathNot: tests };
  const imports = {
    name: `${name}-imports-only-its-rooms`,
    comment: `${room} may import ${may.join(', ') || 'no other room'}.`,
    severity: 'error',
    from,
    to: { path: '^(lib|shop|app|components|simulators|e2e|scripts|bench)/', pathNot: [room, ...may].flatMap(filesOf) },
  };
  const packages = {
    name: `${name}-imports-only-its-packages`,
    comment: `${room} may import these packages: ${npm?.join(', ') || 'none'}.`,
    severity: 'error',
    from,
    to: { path: 'node_modules/', pathNot: npm?.map((one) => `node_modules/${one}/`) },
  };
  return npm ? [imports, packages] : [imports];
}

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...Object.entries(rooms).flatMap(rulesOf),
    {
      name: 'plain-node-stays-plain',
      comment: 'Nothing reachable from `oncekit` imports Next, React or server-only.',
      severity: 'error',
      from: { path: '^lib/index\\.ts$' },
      to: { path: 'node_modules/(next|react|react-dom|server-only)/', reachable: true },
    },
    {
      name: 'browser-stays-free-of-node',
      comment:
        'Nothing reachable from `oncekit/react`, `oncekit/http` or the browser half of testing imports from Node.',
      severity: 'error',
      from: { path: '^lib/(react/index|http/index|testing/browser)\\.ts$' },
      to: { path: '^(node:)?(crypto|fs|path|http|net|async_hooks|timers/promises)$', reachable: true },
    },
    {
      name: 'messaging-asks-its-port',
      comment: 'Within lib/messaging, prisma.ts alone knows a database: the rest asks lib/store/messages.ts.',
      severity: 'error',
      from: { path: '^lib/messaging/', pathNot: ['^lib/messaging/prisma\\.ts$', tests] },
      to: { path: '^lib/store/prisma/' },
    },
    {
      name: 'next-in-its-room',
      comment: 'Within the kit, Next is imported in lib/next alone.',
      severity: 'error',
      from: { path: '^lib/', pathNot: ['^lib/next/', tests] },
      to: { path: 'node_modules/next/' },
    },
    {
      name: 'adapter-in-its-room',
      comment: "Within the kit, Prisma's adapter is imported in lib/adapter-pg alone: apps with another one lack it.",
      severity: 'error',
      from: { path: '^lib/', pathNot: ['^lib/adapter-pg/', tests] },
      to: { path: 'node_modules/@prisma/adapter-pg/' },
    },
    {
      name: 'generated-in-one-place',
      comment: "Only shop/db.ts imports Prisma's output; the kit never does.",
      severity: 'error',
      from: { pathNot: ['^shop/db\\.ts$', '^shop/generated/'] },
      to: { path: '^shop/generated/' },
    },
    {
      name: 'public-entries-only',
      comment: 'The shop uses the kit as a user would: through its entries, never a file behind them.',
      severity: 'error',
      from: { path: '^(app|components|shop|e2e|proxy\\.ts|instrumentation\\.ts)', pathNot: ['^shop/.*\\.test\\.ts$'] },
      to: { path: '^lib/', pathNot: ['^lib/index\\.ts$', '^lib/[a-z-]+/index\\.ts$'] },
    },
    {
      name: 'app-is-not-imported',
      comment: 'Nothing imports a route; components do not import app.',
      severity: 'error',
      from: { path: '^(lib|shop|components|simulators|scripts|e2e|bench)/' },
      to: { path: '^app/' },
    },
    {
      name: 'components-know-no-server',
      comment: 'Components import the shop for its types, and for schemas that a page checks, too (*-schema.ts).',
      severity: 'error',
      from: { path: '^components/' },
      to: { path: '^shop/', pathNot: '-schema\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'shared-schemas-are-plain',
      comment: 'A schema that reaches the browser imports zod alone.',
      severity: 'error',
      from: { path: '^shop/.*-schema\\.ts$' },
      to: { pathNot: '^node_modules/zod/' },
    },
    {
      name: 'no-circles',
      comment: 'No file needs itself by way of others, not for a type either.',
      severity: 'error',
      from: { pathNot: '^shop/generated/' },
      to: { circular: true },
    },
    {
      name: 'tests-stay-out',
      comment: 'Code that ships imports no test.',
      severity: 'error',
      from: { path: '^(app|components|lib|shop|simulators)/', pathNot: tests },
      to: { path: [tests, '^scripts/testing/'] },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: ['node_modules', '^shop/generated/'] },
    exclude: { path: ['^\\.next/', '^\\.data/'] },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
