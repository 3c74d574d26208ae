import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { errorsIn, virtualProgram } from '../../scripts/docs/virtual-program.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** As Next writes it for an app with `typedRoutes` and the routes `/`, `/checkout` and `/orders/[id]`. */
const TYPED_ROUTES = `
declare namespace __next_route_internal_types__ {
  type SearchOrHash = \`?\${string}\` | \`#\${string}\`
  type WithProtocol = \`\${string}:\${string}\`
  type Suffix = '' | SearchOrHash
  type SafeSlug<S extends string> = S extends \`\${string}/\${string}\` ? never : S extends \`\${string}\${SearchOrHash}\` ? never : S extends '' ? never : S
  type StaticRoutes = \`/\` | \`/checkout\`
  type DynamicRoutes<T extends string = string> = \`/orders/\${SafeSlug<T>}\`
  type RouteImpl<T> = | StaticRoutes | SearchOrHash | WithProtocol | \`\${StaticRoutes}\${SearchOrHash}\` | (T extends \`\${DynamicRoutes<infer _>}\${Suffix}\` ? T : never)
}`;

/** What an app writes behind `redirectTo`. */
const CASES = {
  template: `(order) => \`/orders/\${order.id}\``,
  'with a question': `(order) => \`/orders/\${order.id}?new=1\``,
  static: "() => '/checkout'",
  elsewhere: "() => 'https://example.com'",
  either: `(order) => (order.id === 'x' ? '/' : \`/orders/\${order.id}\`)`,
  'or nowhere': `(order) => (order.id ? \`/orders/\${order.id}\` : undefined)`,
  mistyped: "() => '/chekout'",
  'mistyped template': `(order) => \`/oders/\${order.id}\``,
  'any text': '(order) => order.id',
  'a number': '() => 1',
};

/** TypeScript on a busy machine. */
const TIMEOUT_MS = 120_000;

/** Which of the cases do not compile. */
function refused(routes: string): string[] {
  const use = path.join(folder, 'planted-use.ts');
  const lines = [
    "import type { Address } from './address.ts';",
    'declare function handler<To extends string = string>(redirectTo: (order: { id: string }) => Address<To> | undefined): void;',
    ...Object.values(CASES).map((redirectTo) => `handler(${redirectTo});`),
  ];
  const files = new Map([
    [path.join(folder, 'planted-routes.d.ts'), routes],
    [use, lines.join('\n')],
  ]);
  const program = virtualProgram(files, { options: { types: [] } });
  expect(errorsIn(program, path.join(folder, 'address.ts'))).toEqual([]);
  const wrong = errorsIn(program, use).map(({ line }) => line);
  return Object.keys(CASES).filter((_, n) => wrong.includes(n + 2));
}

test(
  'with typed routes, redirectTo leads to a route of the app, or elsewhere',
  () => {
    expect(refused(TYPED_ROUTES)).toEqual(['mistyped', 'mistyped template', 'any text', 'a number']);
  },
  TIMEOUT_MS,
);

test(
  'without them, to any text',
  () => {
    expect(refused('')).toEqual(['a number']);
  },
  TIMEOUT_MS,
);
