import type { LoadedApp } from '../app/loader.ts';
import { blanked, endOf, lineAt } from '../app/source-text.ts';
import { checkNamed, type Finding } from './finding.ts';

/** A file of the app, without its comments. */
export interface Source {
  name: string;
  text: string;
}

const check = checkNamed('Operations');

/**
 * Two definitions of one name, as far as files tell: of two forms one would be given the other's answers. Undefined where
 * there are none. Asked before the app is loaded, which the kit refuses then.
 */
export function checkNames(sources: Source[]): Finding | undefined {
  const first = new Map<string, string>();
  for (const { name, text } of sources) {
    for (const { index, operation } of definedIn(text)) {
      const place = `${name}:${lineAt(text, index)}`;
      const other = first.get(operation);
      if (other) {
        return check.problem(
          `${other} and ${place} both define ${operation}: one would be answered with the result of the other.`,
          `Give the second another name: name: '${operation}-2'.`,
        );
      }
      first.set(operation, place);
    }
  }
  return undefined;
}

/** A form asks the status route what became of its key: one whose operation is not listed there never learns it. */
export function checkOperations(sources: Source[], { operations }: LoadedApp, listedIn: string): Finding {
  const listed = new Set(operations.map(({ name }) => name));
  const twice = operations.find((each) => operations.some((other) => other !== each && other.name === each.name));
  if (twice) {
    return check.problem(
      `${listedIn} lists two operations of the name ${twice.name}, which the status route refuses.`,
      'Take one of them out of the list, or give it another name.',
    );
  }
  for (const { name, text } of sources) {
    const defined = definedIn(text);
    const renamed = [...text.matchAll(RENAMED)].flatMap(({ index, 1: by, 2: base = '', 4: operation = '' }) => {
      if (by === 'serverAction') return { index, operation };
      // A route's caller asks nobody else. What its process leaves unfinished in phases is for a worker.
      return isInPhases(base, sources) ? { index, operation, route: `${base}.as('${operation}')` } : [];
    });
    const all: { index: number; operation: string; route?: string }[] = [...defined, ...renamed];
    for (const { index, operation, route } of all) {
      if (listed.has(operation)) continue;
      const lost = route
        ? 'no worker goes on with its keys'
        : 'its form cannot ask what became of a key, and a worker does not know it';
      return check.problem(
        `${operation} (${name}:${lineAt(text, index)}) is not listed: ${lost}.`,
        `Add ${route ?? 'it'} to \`operations\` in ${listedIn}.`,
      );
    }
  }
  return listed.size > 0
    ? check.ok(`${[...listed].join(', ')}: listed for the status route and the worker.`)
    : check.warning('There is none yet.', `Write one, and list it in ${listedIn}.`);
}

/** An operation that gets another name where it is used. */
const RENAMED = /\b(serverAction|routeHandler)\s*\(\s*(\w+)\s*\.\s*as\s*\(\s*(['"`])([a-z][\w.-]*)\3/g;

/** As far as files tell. */
function isInPhases(name: string, sources: Source[]): boolean {
  const definition = new RegExp(
    `\\b${name}\\b\\s*=[^=]*?\\.\\s*operation\\b[\\s\\S]*?\\)\\s*\\.\\s*(handler|phases)\\s*\\(`,
  );
  return sources.some(({ text }) => definition.exec(text)?.[1] === 'phases');
}

/** The names that are given to `.operation({ … })`, where they are plain strings. */
function definedIn(text: string): { index: number; operation: string }[] {
  const code = blanked(text);
  return [...code.matchAll(/\.\s*operation\s*\(/g)].flatMap(({ index, 0: { length } }) => {
    const call = text.slice(index, endOf(code, index + length - 1));
    const [, , operation] = /\bname\s*:\s*(['"`])([a-z][\w.-]*)\1/.exec(call) ?? [];
    return operation ? { index, operation } : [];
  });
}
