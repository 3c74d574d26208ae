import ts from 'typescript';
import { type Fault, lineAt } from '../fault.ts';
import { type Files, isTest } from '../repository-files.ts';
import { sourceTexts } from '../source-texts.ts';
import { drawRooms, type Rooms } from './drawing.ts';

/** The page of the map. */
export const MAP = 'ARCHITECTURE.md';

const CODE = /\.(tsx?|mjs|cjs)$/;
/** Between these lines the map has what is drawn of the rules. */
const BEGIN = '<!-- drawn by `npm run map -- --write` -->';
const END = '<!-- /drawn -->';
const DRAWN = new RegExp(`${BEGIN}[\\s\\S]*${END}`);
/** A name of a file as prose has it: `x.test.ts` is the kind, not a file. Files of others' packages are `.js`. */
const FILE =
  /(?<![\w$@/.*<>[-])(?:\.{1,2}\/)*((?:(?:\[\w+\]|\w[\w.-]*)\/)*\w[\w.-]*\.(?:tsx?|mjs|cjs|sql|md|prisma))\b/g;
/** Files of an app that uses the kit, which comments speak of, too. */
const OF_USERS = ['lib/operations.ts', 'lib/prisma.ts'];

/** Finds what is untrue in the map, the arrows that nobody uses, and the comments that name a file that is gone. */
export function mapFaults(files: Files, rooms: Rooms): Fault[] {
  return [
    ...drawingFaults(files, rooms),
    ...arrowFaults(files, rooms),
    ...placeFaults(files),
    ...wayFaults(files),
    ...commentFaults(files),
  ];
}

/** The map with the arrows as they are drawn now. */
export function withDrawing(files: Files, rooms: Rooms): string {
  const isPublic = (room: string) => files.has(room.endsWith('.ts') ? room : `${room}/index.ts`);
  const drawing = [BEGIN, drawRooms(rooms, isPublic), END].join('\n\n');
  return (files.get(MAP) ?? '').replace(DRAWN, () => drawing);
}

function drawingFaults(files: Files, rooms: Rooms): Fault[] {
  const map = files.get(MAP) ?? '';
  const drawn = DRAWN.exec(map);
  if (!drawn) return [{ file: MAP, line: 1, advice: 'has no place for the drawing of the rooms.' }];
  if (withDrawing(files, rooms) === map) return [];
  const advice = 'does not draw the rules of .dependency-cruiser.mjs. Run `npm run map -- --write`.';
  return [{ file: MAP, line: lineAt(map, drawn.index), advice }];
}

/** A rule that allows what nobody does draws an arrow that is not there. */
function arrowFaults(files: Files, rooms: Rooms): Fault[] {
  const names = Object.keys(rooms);
  const used = new Set<string>();
  for (const [file, content] of files) {
    if (!CODE.test(file) || isTest(file)) continue;
    const from = roomOf(file, names);
    for (const { fileName } of from ? ts.preProcessFile(content).importedFiles : []) {
      const to = new URL(fileName, `file:///${file}`).pathname.slice(1);
      const targets = /^oncekit(\/|$)/.test(fileName) ? ['entries'] : [to, roomOf(to, names)];
      for (const target of targets) used.add(`${from} ${target}`);
    }
  }
  return Object.entries(rooms).flatMap(([from, { may }]) =>
    may
      .filter((to) => !used.has(`${from} ${to}`))
      .map((to) => ({
        file: '.dependency-cruiser.mjs',
        line: 1,
        advice: `lets ${from} import ${to}, and it does not. Take the arrow out.`,
      })),
  );
}

function roomOf(file: string, names: readonly string[]): string | undefined {
  const holding = names.filter((name) => file === name || file.startsWith(`${name}/`));
  return holding.sort((one, other) => other.length - one.length)[0];
}

/** The files that the map names, and what it looks for in them: `[`symbol`](file)`, and before it names that stand `in` the symbol. */
function placeFaults(files: Files): Fault[] {
  const map = files.get(MAP) ?? '';
  const at = (index: number, advice: string) => ({ file: MAP, line: lineAt(map, index), advice });
  const gone = [...map.matchAll(/\]\(([\w./[\]-]+\.\w+)(?:#[\w-]*)?\)/g)]
    .filter(([, file = '']) => !files.has(file))
    .map(({ index, 1: file }) => at(index, `names ${file}, which is gone.`));
  const places = /((?:`\w+`(?:, | and )?)* in )?\[`(\w+)`(?:, `(\w+)`)?\]\(([\w./[\]-]+\.tsx?)\)/g;
  const lost = [...map.matchAll(places)].flatMap(
    ({ index, 1: within = '', 2: symbol = '', 3: second, 4: file = '' }) => {
      const code = files.get(file);
      if (code === undefined) return [];
      const missing = [
        ...[symbol, ...(second ? [second] : [])].filter((name) => !isDeclared(name, code)),
        ...Array.from(within.matchAll(/\w+(?=`)/g), ([name]) => name).filter((name) => !isMember(name, code)),
      ];
      return missing.map((name) => at(index, `looks for ${name} in ${file}, which does not declare it.`));
    },
  );
  return [...gone, ...lost];
}

/** Names of the three ways that no file of the kit declares. */
function wayFaults(files: Files): Fault[] {
  const map = files.get(MAP) ?? '';
  const kit = [...files].filter(([file]) => file.startsWith('lib/') && CODE.test(file) && !isTest(file));
  const code = kit.map(([, content]) => content).join('\n');
  const ways = [...map.matchAll(/(?<=^## The way of [^\n]*\n)[\s\S]*?(?=^## )/gm)];
  return ways.flatMap(({ 0: way, index: from }) =>
    [...way.matchAll(/`([A-Za-z]\w*[a-z][A-Z]\w*)`/g)]
      .filter(([, name = '']) => !isDeclared(name, code) && !isMember(name, code))
      .map(({ index, 1: name }) => ({
        file: MAP,
        line: lineAt(map, from + index),
        advice: `names ${name}, which nothing in lib declares.`,
      })),
  );
}

function isMember(name: string, code: string): boolean {
  return new RegExp(`\\b${name}\\b ?[(:?=]`).test(code);
}

function isDeclared(name: string, code: string): boolean {
  return new RegExp(`^(export )?(async |abstract )?(function\\*?|const|class|type|interface) ${name}\\b`, 'm').test(
    code,
  );
}

function commentFaults(files: Files): Fault[] {
  const ends = new Set(
    [...files.keys()].flatMap((file) => file.split('/').map((_, at, parts) => parts.slice(at).join('/'))),
  );
  const isThere = (name: string) => ends.has(name) || OF_USERS.includes(name) || /(^|\/)x\./.test(name);
  return [...files].flatMap(([file, content]) => {
    const gone = [...content.matchAll(FILE)].filter(([, name = '']) => !isThere(name));
    const comments = gone.length === 0 ? [] : commentsOf(file, content);
    return gone
      .filter(({ index }) => comments.some(({ text, position }) => index >= position && index < position + text.length))
      .map(({ index, 1: name }) => ({
        file,
        line: lineAt(content, index),
        advice: `a comment names ${name}, which is gone. Name the file that has its part now, or none.`,
      }));
  });
}

function commentsOf(file: string, content: string): { text: string; position: number }[] {
  if (/^docs\/internals\//.test(file)) return [{ text: content, position: 0 }];
  if (CODE.test(file)) return sourceTexts(file, content).filter(({ kind }) => kind === 'comment');
  if (!/\.(sql|prisma)$/.test(file)) return [];
  return [...content.matchAll(/--.*|\/\/.*/g)].map(({ 0: text, index }) => ({ text, position: index }));
}
