/** The files that `init` and `add` write. Each builds as it is; the scope is closed until somebody says who acts. */

/** How a file imports the app's Prisma client: the module, and the client's name there. */
interface ClientImport {
  client: string;
  exported: string;
}

export function idempotencyModule({ client, exported, isFound }: ClientImport & { isFound: boolean }) {
  const advice = isFound
    ? ''
    : '// Your Prisma client: `npx oncekit init` has found none. Make this module, or import the one that you have.\n';
  return `import { createIdempotency } from 'oncekit';
${advice}import ${prismaFrom(exported)} from '${client}';

export const idempotency = createIdempotency({
  prisma,
  // Comma-separated while one takes the place of another: the first signs, all verify.
  secret: process.env.IDEMPOTENCY_SECRET,
  // The principal of this request. null is nobody: no key is issued and nothing runs, until you return somebody here:
  //   const session = await yourSession();
  //   return session && { principal: session.userId };
  // For visitors who have not signed in, a name from a cookie of their own, and isAnonymous: true.
  scope: async () => null,
  // By it limits tell visitors apart who are \`isAnonymous\`. Only you know which header has an address that can be trusted: one
  // that your proxy sets itself, such as x-real-ip. Without it they share one limit.
  addressHeader: process.env.ADDRESS_HEADER,
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

export function statusRouteModule(operations: string) {
  return `import { statusRoute } from 'oncekit/next';
import { operations } from '${operations}';

// Tells a browser what became of a key, and gives a key up. Only the caller's own keys are seen.
export const { GET, DELETE } = statusRoute(operations);
`;
}

/** Modules of the app by how a file of it imports them, and what a worker takes from each: `outbox`, `events as outbox`. */
export type BoxImports = Readonly<Record<string, readonly string[]>>;

export function cronRouteModule(idempotency: string, operations: string, boxes: BoxImports) {
  const imports = Object.entries(boxes).map(([from, names]) => `import { ${names.join(', ')} } from '${from}';\n`);
  const names = Object.values(boxes).flatMap((list) => list.map((name) => name.replace(/^.* as /, '')));
  const driven = names.length > 0 ? `{ ...idempotency, ${names.join(', ')} }` : 'idempotency';
  const messaging = names.length > 0 ? ', /api/cron/relay and /api/cron/inbox each minute' : '';
  return `import { cronRoute } from 'oncekit/next';
import { idempotency } from '${idempotency}';
${imports.join('')}import '${operations}'; // what was begun can be finished once its module was imported

// For hosts without a worker: /api/cron/complete each minute, /api/cron/reap each hour${messaging}. The secret is the Bearer token.
export const { GET, POST } = cronRoute(${driven}, { secret: process.env.CRON_SECRET });
`;
}

export function messagingModule({ client, exported }: ClientImport) {
  return `import { createInbox, createOutbox } from 'oncekit/messaging';
import ${prismaFrom(exported)} from '${client}';

// Where events go: each destination has a name, and a publisher such as webhook({ url, secrets }) of oncekit/messaging.
export const outbox = createOutbox({ prisma, destinations: [] });

// Where events come from. Those of a source with a \`handle\` are tried again by a worker.
export const inbox = createInbox({ prisma, sources: {} });
`;
}

/** The client is called `prisma` from there on. */
function prismaFrom(exported: string): string {
  return exported === 'prisma' ? '{ prisma }' : exported === 'default' ? 'prisma' : `{ ${exported} as prisma }`;
}

/** The forms that one name takes: of the operation and its files, and in code. */
export interface Names {
  /** `place-order`: the operation's name, the names of its files, the path of its page. */
  kebab: string;
  /** `placeOrder`: the operation in code. */
  camel: string;
  /** `Place order`: in the page. */
  words: string;
}

export function operationModule({ kebab, camel }: Names, idempotency: string) {
  return `import { z } from 'zod';
import { idempotency } from '${idempotency}';

// The input, as the form names it. Fields of a form are text: z.coerce.number(), not z.number().
const schema = z.object({ note: z.string().trim().min(1, 'Please write something.') });

export const ${camel} = idempotency.operation({ name: '${kebab}', schema }).handler(async ({ input }) => {
  // Take \`tx\` besides \`input\` and write through it alone, for it is the transaction that holds the key:
  //   const order = await tx.order.create({ data: input });
  // The answer is stored, and each retry gets it again: plain data, such as an id.
  return { note: input.note };
});
`;
}

export function actionModule({ camel }: Names, operation: { exported: string; from: string }) {
  return `'use server';

import { serverAction } from 'oncekit/next';
import { ${operation.exported} } from '${operation.from}';

export const ${camel}Action = serverAction(${operation.exported});
`;
}

interface PageOptions {
  /** The name of its operation. */
  operation: string;
  actions: string;
  /** The operation was made with it, so its schema is known. */
  isNew: boolean;
}

export function pageModule({ camel, words }: Names, { operation, actions, isNew }: PageOptions) {
  const fields = isNew
    ? `      <label>
        Note <input name="note" required />
      </label>`
    : `      {/* The fields, by the names that the schema of ${operation} has. */}`;
  return `import { IdempotentForm } from 'oncekit/next';
import { ${camel}Action } from '${actions}';

// \`intent\` names the one thing that is done once: give it the id of that, such as the cart's.
export default function Page() {
  return (
    <IdempotentForm action={${camel}Action} intent="new">
${fields}
      <button>${words}</button>
    </IdempotentForm>
  );
}
`;
}
