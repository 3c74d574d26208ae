import { readFile } from 'node:fs/promises';

/** `npm test` may take so many times the CPU seconds of `npm run check`: machines differ, and clocks run on while others work. */
const BUDGET = 12.5;
const TICKS_PER_SECOND = 100;

/** The seconds that this machine's CPUs have worked since it started, for whatever program. NaN where there is no /proc/stat. */
export async function cpuSeconds(): Promise<number> {
  return workedIn(await readFile('/proc/stat', 'utf8').catch(() => ''));
}

/** Of the text of /proc/stat (proc_stat(5)): all but waiting, and what other machines were given. */
export function workedIn(stat: string): number {
  const [user = Number.NaN, nice = 0, system = 0, , , irq = 0, softirq = 0] = (stat.split('\n', 1)[0] ?? '')
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}

/** The words of a run about itself. `ofCheck`: the CPU seconds of `npm run check` on this machine, if `.ci/run` knows. */
export function cpuLines(seconds: number, tookMs: number, ofCheck: number): string[] {
  const minutes = `${(tookMs / 60_000).toFixed(1)} minutes`;
  if (Number.isNaN(seconds)) return ['', minutes];
  const told = `${minutes}, ${Math.round(seconds)} CPU seconds of this machine`;
  if (!(ofCheck > 0)) return ['', told];
  const ratio = (seconds / ofCheck).toFixed(1);
  return [
    '',
    `${told}, ${ratio} times those of npm run check (${Math.round(ofCheck)}). The budget is ${BUDGET} times.`,
  ];
}
