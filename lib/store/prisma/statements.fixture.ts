import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { compileFunction } from 'node:vm';
import ts from 'typescript';
import { writeStatement } from './keys/complete.ts';
import { listStatement } from './keys/list.ts';
import { TABLES } from './tables.ts';

/** One statement of this room: `keys/lease.ts TAKE_DUE`, and what is sent. */
export interface RoomStatement {
  name: string;
  text: string;
}

const room = import.meta.dirname;
const isCode = (file: string) => file.endsWith('.ts') && !/\.(test|fixture|child)\.ts$/.test(file);

/** The files of this room, by their path in it. */
function filesOfRoom(): string[] {
  return readdirSync(room, { recursive: true, encoding: 'utf8' }).filter(isCode).sort();
}

/** Every statement of this room, exported or not: what its modules keep as a constant, and what the list is made of. */
export async function statementsOfRoom(): Promise<RoomStatement[]> {
  const found = await Promise.all(filesOfRoom().map(statementsOf));
  return [...found.flat(), ...lists(), ...writes()];
}

/** Runs a module once more, with its constants showing. Its imports are the real ones. */
async function statementsOf(file: string): Promise<RoomStatement[]> {
  const source = readFileSync(path.join(room, file), 'utf8');
  const names = [...source.matchAll(/^(?:export )?const ([A-Z][A-Z_]*) = /gm)].map(([, name]) => name as string);
  const shown = `${source}\nexport const $shown = { ${names.join(', ')} };`;
  const { outputText } = ts.transpileModule(shown, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  const imported = new Map<string, unknown>();
  for (const [, id] of outputText.matchAll(/require\("(\.[^"]+)"\)/g)) {
    imported.set(id as string, await import(path.resolve(room, path.dirname(file), id as string)));
  }
  const exports: { $shown?: Record<string, unknown> } = {};
  const require = (id: string) => imported.get(id) ?? createRequire(import.meta.url)(id);
  compileFunction(outputText, ['require', 'exports'])(require, exports);
  return Object.entries(exports.$shown ?? {})
    .filter((entry): entry is [string, string] => isStatement(entry[1]))
    .map(([name, text]) => ({ name: `${file} ${name}`, text }));
}

/** Not the beginning of one, which several share. */
function isStatement(text: unknown): boolean {
  if (typeof text !== 'string' || !/^\s*(WITH|SELECT|INSERT|UPDATE|DELETE)\b/.test(text)) return false;
  return !/^INSERT INTO \w+ \([^()]*\)$/.test(text);
}

/** The list, which is put together as it is asked for. */
function lists(): RoomStatement[] {
  const page = { limit: 10, offset: 0 };
  const filters = [
    page,
    { ...page, state: 'unknown', operation: 'checkout', sort: 'oldest' },
    { ...page, stuck: true, search: 'ann' },
    { ...page, state: 'failed', search: 'ann', sort: 'expires' },
  ] as const;
  return filters.map((filter, n) => ({ name: `keys/list.ts ${n + 1}`, text: listStatement(filter).text }));
}

/** All that a transaction of an executor writes, put together as well. */
function writes(): RoomStatement[] {
  const id = { tenant: 'a', principal: 'b', operation: 'c', key: 'd' };
  const row = { attempts: 1, needsAttention: false, schemaVersion: 1, input: null, traceParent: null, steps: [] };
  const steps = [{ name: 'a', position: 1, kind: 'atomic', result: '1' }] as const;
  const start = { name: 'b', position: 2, arguments: new Uint8Array(), derivedKey: 'k' };
  const settle = { state: 'succeeded', result: '1', schemaVersion: 1 } as const;
  const left = { ...settle, state: 'failed', uncompensated: { steps: ['a'], why: 'w' } } as const;
  const held = { id, state: 'in_progress', fencingToken: 1, ...row } as const;
  return [{}, { steps }, { start }, { steps, start }, { settle }, { steps, settle }, { settle: left }].flatMap(
    (write, n) => {
      const { text, alone = '' } = writeStatement(held, 1000, write);
      return [text, alone].map((sent, way) => ({
        name: `keys/complete.ts ${n + 1}${way ? ' alone' : ''}`,
        text: sent,
      }));
    },
  );
}

/** Where a table is named in a text that is no part of a constant, and so would not be found: `keys/lease.ts:12`. */
export function hiddenStatements(): string[] {
  return filesOfRoom().flatMap((file) => {
    const source = ts.createSourceFile(file, readFileSync(path.join(room, file), 'utf8'), ts.ScriptTarget.ES2022, true);
    const hidden: string[] = [];
    const look = (node: ts.Node) => {
      const isText = ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
      const isConstant = ts.isVariableStatement(node) && node.parent === source;
      if (isConstant) return;
      if (isText && TABLES.some((table) => new RegExp(`\\b${table}\\b`).test(node.getText(source)))) {
        hidden.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}`);
      }
      ts.forEachChild(node, look);
    };
    look(source);
    return hidden;
  });
}
