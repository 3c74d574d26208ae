import { flag } from '../arguments.ts';
import { confirm } from '../confirmation.ts';
import { counted } from '../doctor/finding.ts';
import { writeFiles } from './file-writer.ts';
import type { Plan, Removal } from './plan.ts';
import { showPlan } from './plan-diff.ts';

/** The options of every command that writes files. */
export const WRITE_OPTIONS = { yes: { ...flag, short: 'y' }, 'dry-run': flag } as const;

/**
 * Shows a plan, asks, and carries it out.
 *
 * @param nothing says that there is nothing to do, of a plan that may be empty
 * @param full shows files in full
 * @param last what is to be done behind the plan's own next steps
 * @returns the exit code: 1 where something was to be done, and was not
 */
export async function carryOut(
  root: string,
  { removals = [], ...plan }: Plan & { next: readonly string[]; removals?: Removal[] },
  { yes = false, 'dry-run': isDry = false },
  { nothing = '', full = false, last = [] as string[] } = {},
): Promise<number> {
  const shown = showPlan(plan, { full });
  if (plan.writes.length + removals.length === 0) {
    console.log(shown ? `${shown}\n${nothing}` : nothing);
    return 0;
  }
  for (const { file } of removals) console.log(`--- ${file}  (deleted: it is as init has written it)`);
  console.log(shown);
  const count = `${counted(plan.writes.length, 'file')} written${removals.length > 0 ? `, ${removals.length} deleted` : ''}`;
  if (isDry) {
    console.log(`A dry run. It would be: ${count}.`);
    return 0;
  }
  if (!yes && !(await confirm(`${count}. Go on? [y/N] `))) {
    console.error('Nothing was changed. To go on without being asked: --yes.');
    return 1;
  }
  const open = await writeFiles(root, plan.writes, removals);
  const close = open.map((file) => `Close ${file} to others on this machine, for it holds secrets: chmod 600 ${file}`);
  const steps = [...plan.next, ...close, ...last].map((step, n) => `\n  ${n + 1}. ${step}`).join('');
  console.log(`Done: ${count}.${steps && ` Next:${steps}`}`);
  return 0;
}
