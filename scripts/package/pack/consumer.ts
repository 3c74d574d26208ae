/**
 * A service of a stranger that has no Next: plain TypeScript under `nodenext`, every library's declarations checked,
 * compiled by `tsc` and run by Node.
 */
import { prismaFiles } from './fixture-app.ts';

export function consumerFiles({ name, databaseUrl }: { name: string; databaseUrl: string }): Record<string, string> {
  return {
    'package.json': `${JSON.stringify({ name, version: '0.1.0', private: true, type: 'module' }, null, 2)}\n`,
    '.env': `DATABASE_URL="${databaseUrl}"\n`,
    'tsconfig.json': `${JSON.stringify(
      {
        compilerOptions: {
          target: 'ES2022',
          module: 'nodenext',
          strict: true,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
          skipLibCheck: false,
          outDir: 'dist',
          rootDir: 'src',
          types: ['node'],
        },
        include: ['src'],
      },
      null,
      2,
    )}\n`,
    'src/sell-twice.ts': SELL_TWICE,
    ...prismaFiles('../src/generated/prisma'),
  };
}

export const CONSUMER_PACKAGES = {
  dependencies: ['@prisma/adapter-pg', '@prisma/client', 'zod'],
  devDependencies: ['@types/node', 'dotenv', 'prisma', 'typescript'],
};

/** Five workers of a queue get the same message at once: one order, five times the same answer. */
const SELL_TWICE = `import { createIdempotency, type Outcome } from 'oncekit';
import { PrismaPg } from 'oncekit/adapter-pg';
import { complete } from 'oncekit/worker';
import { z } from 'zod';
import { PrismaClient } from './generated/prisma/client.js';

process.loadEnvFile();
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });
const idempotency = createIdempotency({
  prisma,
  secret: [process.env.IDEMPOTENCY_SECRET ?? 'a-secret-of-at-least-thirty-two-characters'],
  waitMs: 8000,
  scope: async () => null,
});

const sell = idempotency
  .operation({ name: 'sell', schema: z.object({ sku: z.string(), quantity: z.number().int() }) })
  .handler(async ({ input, tx }) => (await tx.order.create({ data: input })).id);

const scope = { tenant: 'shop', principal: 'queue' };
const request = { key: 'message-1', scope, payload: { sku: 'mug', quantity: 1 } };
const outcomes: Outcome<string>[] = await Promise.all(Array.from({ length: 5 }, () => sell.execute(request)));

const answers = new Set(outcomes.map((outcome) => (outcome.ok ? outcome.data : outcome.code)));
const figures = await complete(idempotency);
console.log(JSON.stringify({ answers: [...answers], orders: await prisma.order.count(), figures }));
await prisma.$disconnect();
`;
