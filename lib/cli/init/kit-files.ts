import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { SchemaPart } from '../../store/store.ts';

/** The file that holds the models, in the package and in the user's folder. */
export const MODELS: Record<SchemaPart, string> = { keys: 'idempotency.prisma', messaging: 'messaging.prisma' };

const prisma = new URL('../../../prisma/', import.meta.url);

/** Reads them from the package that this module is part of, which may be packed or a clone. */
export function readKitFiles() {
  const text = (name: string) => readFileSync(fileURLToPath(new URL(name, prisma)), 'utf8');
  /** One for each version of the schema, oldest first. */
  const migrations = readdirSync(fileURLToPath(new URL('kit', prisma)))
    .sort()
    .flatMap((file) => {
      const [, version, part] = /^(\d{4})_(keys|messaging)\.sql$/.exec(file) ?? [];
      return part ? { part: part as SchemaPart, version: Number(version), file, sql: text(`kit/${file}`) } : [];
    });
  return { models: { keys: text(MODELS.keys), messaging: text(MODELS.messaging) }, migrations };
}

/** The package's files for a user's prisma/ folder. */
export type KitFiles = ReturnType<typeof readKitFiles>;
