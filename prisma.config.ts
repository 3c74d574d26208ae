import { defineConfig } from 'prisma/config';

// `prisma generate` asks for the schema engine, a binary it would download, and never runs it. Any executable will do.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;

export default defineConfig({
  schema: 'prisma',
  migrations: { path: 'prisma/migrations' },
  ...(process.env.DATABASE_URL ? { datasource: { url: process.env.DATABASE_URL } } : {}),
});
