import { fileURLToPath } from 'node:url';
import { bundle } from '../package/bundle.ts';

/** The commands, and the kit as the apps import it that tests give to them: one copy for both, as in a user's node_modules. */
const PROGRAMS = {
  oncekit: 'lib/cli/oncekit.ts',
  'doctor-process': 'lib/cli/doctor/doctor-process.fixture.ts',
  kit: 'lib/index.ts',
  'adapter-pg': 'lib/adapter-pg/index.ts',
  messaging: 'lib/messaging/index.ts',
  'demo-client': 'shop/db.ts',
};

// As deep as lib/cli/init, from where the command finds the kit's schema.
const FOLDER = '.data/programs/cli';

/** Vitest's global setup of the tests that start them: from TypeScript a process takes twice as long to start. */
export default async function buildCliPrograms(): Promise<void> {
  await bundle(PROGRAMS, FOLDER);
}

export function cliProgram(name: keyof typeof PROGRAMS): string {
  return fileURLToPath(new URL(`../../${FOLDER}/${name}.mjs`, import.meta.url));
}
