import type { Driven } from './passes.ts';

/** Says at once, with what to run, why every pass would fail. Without it each says the same later, one by one. */
export async function warnOutdatedSchema(driven: Driven, log: (line: string) => void): Promise<void> {
  const hasMessages = driven.outbox !== undefined || driven.inbox !== undefined;
  // The loops report a database that is away, and wait for it.
  const states = (await driven.readSchema?.().catch(() => undefined)) ?? [];
  for (const { part, existing, expected, advice } of states) {
    if (!advice || (part === 'messaging' && !hasMessages)) continue;
    log(`The database has ${existing}, and this worker needs ${expected}. ${advice}`);
  }
}
