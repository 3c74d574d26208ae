import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Keys are needed by everybody; messaging is for whoever sends or receives events. */
export type Part = 'keys' | 'messaging';

/** What the package brings along for a user's prisma/ folder. */
export interface KitFiles {
  models: Record<Part, string>;
  /** One for each version of the schema, oldest first. */
  migrations: { part: Part; version: number; file: string; sql: string }[];
}

/** The file that holds the models, in the package and in the user's folder. */
export const MODELS: Record<Part, string> = { keys: 'idempotency.prisma', messaging: 'messaging.prisma' };

const prisma = new URL('../../prisma/', import.meta.url);

/** Reads them from the package that this module is part of, which may be packed or a clone. */
export function readKitFiles(): KitFiles {
  const text = (name: string) => readFileSync(fileURLToPath(new URL(name, prisma)), 'utf8');
  const migrations = readdirSync(fileURLToPath(new URL('kit', prisma)))
    .sort()
    .flatMap((file) => {
      const [, version, part] = /^(\d{4})_(keys|messaging)\.sql$/.exec(file) ?? [];
      return part ? { part: part as Part, version: Number(version), file, sql: text(`kit/${file}`) } : [];
    });
  return { models: { keys: text(MODELS.keys), messaging: text(MODELS.messaging) }, migrations };
}

/** The newest version of the schema that this kit speaks to. */
export function newestVersion(kit: KitFiles, part: Part): number {
  return Math.max(...kit.migrations.filter((each) => each.part === part).map(({ version }) => version));
}
