/**
 * Programs that tests need and not every machine can have. `WITHOUT=nats,pgbouncer` names those that a run goes without: scripts/test.ts
 * sets it where one cannot be installed, and a person who wants none installed. What needs one is then skipped: of Vitest's tests those
 * with its tag, of Playwright's those that call `test.skip` for it; without a Chromium all of Playwright's, and the component tests.
 */
export type Program = 'chromium' | 'nats' | 'pgbouncer';
export const NAMES: Record<Program, string> = { chromium: 'Chromium', nats: 'NATS server', pgbouncer: 'PgBouncer' };
export const PROGRAMS = Object.keys(NAMES) as Program[];

export function isWithout(program: Program): boolean {
  return (process.env.WITHOUT ?? '').split(',').includes(program);
}

/** The names in `WITHOUT`. Throws where one is no such program: what it was meant for would not be skipped. */
export function withoutNames(): string[] {
  const names = (process.env.WITHOUT ?? '').split(',').filter(Boolean);
  const unknown = names.filter((name) => !PROGRAMS.some((one) => one === name));
  if (unknown.length > 0) throw new Error(`WITHOUT names ${unknown.join()}. It can name ${PROGRAMS.join()}.`);
  return names;
}
