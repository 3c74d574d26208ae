/** What `init` writes, as it stands in the app from then on. Each builds as it is; the scope is closed until somebody says who acts. */

export function idempotencyModule({
  client,
  exported,
  isFound,
}: {
  client: string;
  exported: string;
  isFound: boolean;
}) {
  const name = exported === 'prisma' ? '{ prisma }' : exported === 'default' ? 'prisma' : `{ ${exported} as prisma }`;
  const advice = isFound
    ? ''
    : '// Your Prisma client: `npx oncekit init` has found none. Make this module, or import the one that you have.\n';
  return `import { createIdempotency } from 'oncekit';
${advice}import ${name} from '${client}';

export const idempotency = createIdempotency({
  prisma,
  // Comma-separated while one takes the place of another: the first signs, all verify.
  secret: (process.env.IDEMPOTENCY_SECRET ?? '').split(','),
  // Who acts in this request. null is nobody: no key is issued and nothing runs, until you return somebody here:
  //   const session = await yourSession();
  //   return session && { tenant: 'main', principal: session.userId };
  scope: async () => null,
});
`;
}

export function operationsModule() {
  return `// Every operation of the app: for the status route, the worker and \`npx oncekit doctor\`. Import each here and list it:
//   import { checkout } from './checkout';
//   export const operations = [checkout] as const;
export const operations = [] as const;
`;
}

export function statusRoute(operations: string) {
  return `import { statusRoute } from 'oncekit/next';
import { operations } from '${operations}';

// Tells a browser what became of a key, and gives a key up. Only the caller's own keys are seen.
export const { GET, DELETE } = statusRoute(operations);
`;
}

export function cronRoute({ idempotency, operations }: { idempotency: string; operations: string }) {
  return `import { cronRoute } from 'oncekit/next';
import { idempotency } from '${idempotency}';
import '${operations}'; // what was begun can be finished once its module was imported

// For hosts without a worker: /api/cron/complete each minute, /api/cron/reap each hour, with the secret as Bearer token.
export const { GET, POST } = cronRoute(idempotency, { secret: process.env.CRON_SECRET });
`;
}
