import { createTwoFilesPatch } from 'diff';
import type { FileWrite, Plan } from './plan.ts';

/**
 * A plan as a person reads it before anything is written. Secrets are not shown, nor what stands beside them; a plain copy
 * of one of the package's files is named instead of printed.
 *
 * @param full prints those copies as well
 */
export function showPlan({ writes, kept, notes }: Plan, { full = false } = {}): string {
  const parts = writes.map((write) => (write.copyOf && !full ? named(write) : diffOf(write)));
  const remarks = [...kept.map((each) => `Kept: ${each}`), ...notes.map((each) => `Note: ${each}`)];
  return [...parts, ...remarks].join('\n');
}

function named({ file, content, copyOf }: FileWrite): string {
  const lines = content.trimEnd().split('\n').length;
  return `+++ ${file}  (new, ${lines} lines: a copy of node_modules/oncekit/${copyOf})\n`;
}

function diffOf({ file, before, content, shown }: FileWrite): string {
  const is = before === undefined ? 'new' : 'changed';
  if (shown) return `+++ ${file}  (${is})\n${shown.join('\n')}\n`;
  const patch = createTwoFilesPatch(before === undefined ? '/dev/null' : file, file, before ?? '', content);
  return patch.slice(patch.indexOf('\n') + 1);
}
