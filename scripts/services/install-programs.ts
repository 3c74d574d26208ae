/** Finds the programs that tests need, and installs those that are missing. */
import { isWithout, type Program, withoutNames } from '../testing/without.ts';
import { ensureChromium, findChromium, howToInstall } from './chromium.ts';
import { ensureNats, findNats } from './nats-install.ts';
import { ensurePgBouncer, findPgBouncer } from './pgbouncer-install.ts';

interface How {
  log: (line: string) => void;
  /** Ends what is under way. */
  signal: AbortSignal;
}

interface Needed {
  /** Names a program that is there already. */
  variable: string;
  /** How and where one is installed. */
  how: string;
  find: () => Promise<string | undefined>;
  ensure: (how: How) => Promise<unknown>;
}

const NEEDED: Record<Program, Needed> = {
  chromium: {
    variable: 'PLAYWRIGHT_CHROMIUM_PATH',
    how: howToInstall(),
    find: findChromium,
    ensure: ensureChromium,
  },
  nats: {
    variable: 'NATS_SERVER_PATH',
    how: "unpacked into .data/nats, from Debian's package, or else from its release on GitHub",
    find: findNats,
    ensure: ensureNats,
  },
  pgbouncer: {
    variable: 'PGBOUNCER_PATH',
    how: "unpacked into .data/pgbouncer, from Debian's package, where there is apt-get",
    find: async () => (await findPgBouncer())?.path,
    ensure: ensurePgBouncer,
  },
};

export interface FoundProgram extends Pick<Needed, 'variable' | 'how'> {
  program: Program;
  /** None of one that is missing. */
  path: string | undefined;
  /** Not looked for: `WITHOUT` names it. */
  isLeftOut: boolean;
}

/** Looks for each. Throws where a variable or `WITHOUT` names something else. */
export async function findPrograms(programs: readonly Program[]): Promise<FoundProgram[]> {
  withoutNames();
  return await Promise.all(
    programs.map(async (program) => {
      const isLeftOut = isWithout(program);
      return { ...NEEDED[program], program, isLeftOut, path: isLeftOut ? undefined : await NEEDED[program].find() };
    }),
  );
}

/**
 * Installs each that is missing. One that cannot be had is added to `WITHOUT`, which everything inherits that is started from here on.
 * Returns those that the run goes without, and why. Rejects where it is aborted.
 */
export async function installPrograms(
  programs: readonly Program[],
  { log, signal }: How,
  needed: Record<Program, Pick<Needed, 'ensure'>> = NEEDED,
): Promise<Map<Program, string>> {
  const lacks = new Map<Program, string>();
  for (const program of programs) {
    if (isWithout(program)) {
      lacks.set(program, `WITHOUT leaves out ${program}.`);
      continue;
    }
    try {
      await needed[program].ensure({ log, signal });
    } catch (error) {
      signal.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      log(why);
      lacks.set(program, why);
    }
  }
  process.env.WITHOUT = [...new Set([...withoutNames(), ...lacks.keys()])].join();
  return lacks;
}
