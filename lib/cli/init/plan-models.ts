import { createHash } from 'node:crypto';
import path from 'node:path';
import { TABLES_OF } from '../../store/prisma/tables.ts';
import type { SchemaPart } from '../../store/store.ts';
import type { findPrisma } from '../app/prisma.ts';
import { withoutComments } from '../app/source-text.ts';
import { CliError } from '../command.ts';
import { type KitFiles, MODELS } from './kit-files.ts';
import { type Plan, planOf } from './plan.ts';

type PrismaSchema = ReturnType<typeof findPrisma>;

/** The text between the marks of a part, with its hash. Line ends do not count: git may have changed them. */
const blockIn = (part: SchemaPart, content: string) =>
  new RegExp(
    `^// >>> oncekit ${part} ([0-9a-f]{12})\\b[^\\n]*\\n([\\s\\S]*?)^// <<< oncekit ${part}\\r?\\n?`,
    'm',
  ).exec(content);

const unix = (text: string) => text.replaceAll('\r\n', '\n');

/**
 * The kit's models: a file of their own in a schema's folder, a block between two marks in a single file. The first mark
 * holds a hash of what stands between them. What nobody has changed is brought up to date by a later kit; what somebody
 * has stays.
 */
export function planModels(prisma: PrismaSchema, kit: KitFiles, parts: SchemaPart[]): Plan {
  const plan = planOf([]);
  let { files } = prisma;
  for (const part of parts) {
    const models = withSchemas(kit.models[part], files);
    const planned = planPart({ ...prisma, files }, part, models);
    if (typeof planned === 'string') plan.kept.push(planned);
    else if (planned) {
      // Both parts go into a single file: the second one behind the first.
      plan.writes = [...plan.writes.filter(({ file }) => file !== planned.file), planned];
      files = [...files.filter(({ file }) => file !== planned.file), planned];
    }
  }
  const read = new Map(prisma.files.map(({ file, content }) => [file, content]));
  for (const write of plan.writes) write.before = read.get(write.file);
  return plan;
}

/** Plans the models of one part. Undefined says that they are there, a sentence that they are there in another form. */
function planPart(prisma: PrismaSchema, part: SchemaPart, models: string): Plan['writes'][number] | string | undefined {
  const block = blockOf(part, models);
  for (const { file, content } of prisma.files) {
    if (unix(content).trim() === models.trim()) return undefined; // copied by hand
    const found = blockIn(part, content);
    if (!found) continue;
    const [whole, hash, body = ''] = found;
    if (unix(whole).trimEnd() === block.trimEnd()) return undefined;
    if (hashOf(body) === hash) return { file, before: content, content: content.replace(whole, () => block) };
    return `${file}: the kit's models (${part}) were changed by hand and stay as they are. Compare: node_modules/oncekit/prisma/${MODELS[part]}.`;
  }
  assertNoClash(prisma, models);
  if (prisma.isFolder) {
    const file = path.posix.join(prisma.at, MODELS[part]);
    const taken = prisma.files.find((each) => each.file === file);
    if (taken) return `${file} is there already, without the kit's models in it. Rename it, then run this again.`;
    return { file, before: undefined, content: block, copyOf: `prisma/${MODELS[part]}` };
  }
  const { file, content } = prisma.files[0] as PrismaSchema['files'][number];
  return { file, before: content, content: `${content.trimEnd()}\n\n${block}` };
}

/** Takes the kit's models out again, where nobody has changed them: a file of their own goes, a block leaves its file. */
export function planModelsRemoval({ files }: PrismaSchema, kit: KitFiles): Plan {
  const plan = planOf([]);
  for (const { file, content: before } of files) {
    let content = before;
    for (const part of Object.keys(MODELS) as SchemaPart[]) {
      const [whole, hash, body = ''] = blockIn(part, content) ?? [];
      if (whole && hashOf(body) === hash) content = content.replace(whole, '');
      else if (unix(content).trim() === unix(kit.models[part]).trim()) content = '';
      else if (content.includes(`@@map("${TABLES_OF[part][0]}")`)) {
        plan.kept.push(`${file}: the kit's models (${part}) were changed by hand and stay as they are. Take them out.`);
      }
    }
    if (content === before) continue;
    if (content.trim() === '') plan.removals.push({ file, before });
    else plan.writes.push({ file, before, content: `${content.trimEnd()}\n` });
  }
  return plan;
}

function blockOf(part: SchemaPart, models: string): string {
  const body = models.endsWith('\n') ? models : `${models}\n`;
  const head = `// >>> oncekit ${part} ${hashOf(body)}: kept up to date by \`npx oncekit init\`, as long as nobody changes it`;
  return `${head}\n${body}// <<< oncekit ${part}\n`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(unix(text)).digest('hex').slice(0, 12);
}

/** Each model must name its schema where the datasource lists schemas. */
function withSchemas(models: string, files: PrismaSchema['files']): string {
  const isDivided = files.some(({ content }) => /\bschemas\s*=\s*\[/.test(withoutComments(content)));
  return isDivided ? models.replace(/^( {2}@@map\(.*\)\n)/gm, '$1  @@schema("public")\n') : models;
}

/** Somebody else's models or tables of the same name: a key table of one's own, most likely. */
function assertNoClash({ files }: PrismaSchema, models: string): void {
  const namesIn = (text: string) => [
    ...[...text.matchAll(/^\s*model\s+(\w+)\s*\{/gm)].map(([, name]) => `model ${name}`),
    ...[...text.matchAll(/@@map\("([^"]+)"\)/g)].map(([, name]) => `table ${name}`),
  ];
  const ours = new Set(namesIn(models));
  for (const { file, content } of files) {
    const name = namesIn(withoutComments(content)).find((each) => ours.has(each));
    if (!name) continue;
    throw new CliError(
      `${file} has a ${name} of its own, and the kit's has the same name.`,
      name.startsWith('model')
        ? 'Rename yours: model Old… { … @@map("<its table>") }. If it is the kit\'s, copied by hand, remove it first.'
        : 'Rename yours in a migration first: ALTER TABLE … RENAME TO ….',
    );
  }
}
