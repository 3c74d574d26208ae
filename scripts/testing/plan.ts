/** A run says this before it does anything: its steps with their minutes, and the programs that it finds or will install. */
import type { FoundProgram } from '../services/install-programs.ts';
import { NAMES } from './without.ts';

export interface Step {
  what: string;
  /** As measured on a quiet machine of slowness 1 with two cores. Left out where nobody has measured. */
  minutes?: number | undefined;
}

interface Plan {
  slowness: number;
  steps: readonly Step[];
  /** The minutes of all steps, where they are known of the whole alone. */
  total?: number | undefined;
  programs: readonly FoundProgram[];
}

export function planLines({ slowness, steps, total, programs }: Plan): string[] {
  const sum = steps.reduce((so, { minutes = Number.NaN }) => so + minutes, 0);
  const about = (minutes = Number.NaN) => {
    if (Number.isNaN(minutes)) return '';
    const here = Math.round(minutes * slowness);
    return here < 1 ? ', under 1 min' : `, about ${here} min`;
  };
  const missing = programs.filter(({ path, isLeftOut }) => !path && !isLeftOut);
  const variables = missing.map(({ variable }) => variable).join(', ');
  const without = programs.filter(({ path }) => !path).map(({ program }) => program);
  return [
    `The steps of this run${about(total ?? sum)}:`,
    ...steps.map(({ what, minutes }) => `  ${what}${about(minutes)}`),
    'The programs that it needs:',
    ...programs.map(({ program, path, isLeftOut, how }) => {
      if (isLeftOut) return `  ${NAMES[program]}: left out, as WITHOUT says`;
      return `  ${NAMES[program]}: ${path ?? `missing, will be installed: ${how}`}`;
    }),
    ...(missing.length > 0
      ? [
          'What cannot be installed is skipped, and said at the end. To have nothing installed, press Ctrl-C now, and set',
          `  ${variables} to a program that is there, or WITHOUT=${without} to skip what needs it.`,
        ]
      : []),
  ];
}
