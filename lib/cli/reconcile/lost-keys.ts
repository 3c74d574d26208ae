import { printable } from '../../core/printable.ts';
import type { NamedKey } from '../../engine/phases/lost-key.ts';
import { describeOutside, enteredLine, type Reconciled } from './report.ts';

/** How often a long list says how far it is, in milliseconds. */
const PROGRESS_MS = 5000;

/** Looks keys up one after the other, for each locks what its operation locks. */
export async function lookUpAll(
  named: readonly NamedKey[],
  lookUp: (named: NamedKey) => Promise<Reconciled['state']>,
  tell: (line: string) => void,
): Promise<Reconciled[]> {
  const keys: Reconciled[] = [];
  let toldAt = performance.now();
  for (const each of named) {
    keys.push({ named: each, state: await lookUp(each) });
    if (performance.now() - toldAt < PROGRESS_MS) continue;
    toldAt = performance.now();
    tell(`Looked up ${keys.length} of ${named.length} …`);
  }
  return keys;
}

/** Enters what the outside knows, of each key for which `ask` agrees. */
export async function enterAll(
  keys: readonly Reconciled[],
  actor: string,
  { ask, tell }: { ask: (question: string) => Promise<boolean>; tell: (line: string) => void },
): Promise<void> {
  for (const each of keys) {
    const { named, state } = each;
    if (state.kind !== 'lost' || !state.enter) continue;
    const question = `Enter ${named.key} of ${named.operation} (${describeOutside(state)})? [y/N] `;
    if (!(await ask(printable(question)))) continue;
    each.entered = await state.enter(actor);
    tell(enteredLine(named, each.entered));
  }
}
