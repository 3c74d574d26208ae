/** The files that `add` writes. Each builds as it is, and does something that can be seen. */
import type { Names } from './names.ts';

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
