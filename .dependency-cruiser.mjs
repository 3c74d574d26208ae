/**
 * The arrows between the rooms, as `ARCHITECTURE.md` draws them. `rooms.test.ts` plants a violation and sees it found.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */
const tests = '\\.(test|test-d|testsuite|fixture|child|browser\\.test)\\.tsx?$';

/** A room of lib/ may import itself, the listed rooms and nothing else of this repository. */
function room(name, allowed, { npm } = {}) {
  const rooms = [name, ...allowed].join('|');
  return [
    {
      name: `${name}-imports-only-its-rooms`,
      comment: `lib/${name} may import ${allowed.join(', ') || 'no other room'}.`,
      severity: 'error',
      from: { path: `^lib/${name}/`, pathNot: tests },
      to: { path: '^(lib|shop|app|components|simulators|e2e|scripts|bench)/', pathNot: `^lib/(${rooms})(/|\\.ts$)` },
    },
    ...(npm
      ? [
          {
            name: `${name}-imports-only-its-packages`,
            comment: `lib/${name} may import these packages: ${npm.join(', ') || 'none'}.`,
            severity: 'error',
            from: { path: `^lib/${name}/`, pathNot: tests },
            to: { path: 'node_modules/', pathNot: npm.map((one) => `node_modules/${one}/`) },
          },
        ]
      : []),
  ];
}

export default {
  forbidden: [
    ...room('core', [], { npm: ['canonicalize', 'devalue'] }),
    ...room('store', ['core'], { npm: ['@prisma/client'] }),
    ...room('telemetry', ['core'], { npm: ['@opentelemetry/api'] }),
    ...room('messaging', ['core', 'store', 'telemetry']),
    ...room('engine', ['core', 'store/(?!prisma)[a-z-]+', 'telemetry'], { npm: ['devalue', 'cockatiel'] }),
    ...room('worker', ['engine', 'store', 'messaging', 'core', 'telemetry']),
    ...room('admin', ['core', 'store', 'engine', 'messaging', 'telemetry']),
    ...room('http', ['core', 'telemetry'], { npm: ['cockatiel'] }),
    ...room('next', ['engine', 'http', 'core', 'telemetry', 'worker/passes', 'react'], { npm: ['next', 'react'] }),
    ...room('react', ['core'], { npm: ['react'] }),
    ...room('testing', ['core']),
    ...room('adapter-pg', ['store'], { npm: ['@prisma/adapter-pg'] }),
    ...room('stripe', ['engine'], { npm: ['none'] }),
    ...room('cli', ['core', 'store', 'engine', 'messaging', 'worker', 'admin'], { npm: ['diff', 'pg'] }),
    {
      name: 'entry-imports-its-rooms',
      comment: 'lib/index.ts may import core, engine and store.',
      severity: 'error',
      from: { path: '^lib/index\\.ts$' },
      to: { path: '^(lib|shop|app|components)/', pathNot: '^lib/(core|engine|store)/' },
    },
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
      name: 'shop-imports-the-kit-alone',
      comment: 'The shop imports the kit and itself: no route, no component, no script.',
      severity: 'error',
      from: { path: '^shop/', pathNot: tests },
      to: { path: '^(app|components|simulators|scripts|e2e|bench)/' },
    },
    {
      name: 'simulators-import-nothing-of-ours',
      comment:
        'The payment gateway and the faulty network share no code with the shop or the kit, and so none of its faults.',
      severity: 'error',
      from: { path: '^simulators/', pathNot: tests },
      to: { path: '^(lib|shop|app|components|scripts|e2e|bench)/' },
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
