import ts from 'typescript';
import { exportedNames } from '../../package/kit-size.ts';
import { type Fault, lineAt } from '../fault.ts';
import { type Files, isTest } from '../repository-files.ts';

/** The rooms that a reader of one call passes: what they export has its name alone in all of `lib`. */
const ALONE = /^lib\/(engine|store)\//;

/** Finds the names that two files of `lib` declare and export, where one of the files is of those rooms. */
export function nameFaults(files: Files): Fault[] {
  const places = new Map<string, { file: string; line: number }[]>();
  for (const [file, content] of files) {
    if (!/^lib\/.*\.tsx?$/.test(file) || isTest(file)) continue;
    const source = ts.createSourceFile(file, content, ts.ScriptTarget.Latest, true);
    for (const [name, node] of exportedNames(source)) {
      places.set(name, [...(places.get(name) ?? []), { file, line: lineAt(content, node.getStart(source)) }]);
    }
  }
  return [...places].flatMap(([name, [first, ...others]]) =>
    [first, ...others].some((place) => place && ALONE.test(place.file))
      ? others.map((place) => ({
          ...place,
          advice: `exports ${name}, as ${first?.file} does. Rename one of them, or make them one.`,
        }))
      : [],
  );
}
