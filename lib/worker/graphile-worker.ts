import { ConfigurationError } from '../core/errors.ts';

/** The command that installs it. */
export const INSTALL = 'npm install graphile-worker@0.17';

export type GraphileWorker = typeof import('graphile-worker');

/** The package that jobs need, and nothing else: an optional peer of the kit. Undefined where the app has not installed it. */
export async function findGraphileWorker(): Promise<GraphileWorker | undefined> {
  try {
    return await import('graphile-worker');
  } catch (error) {
    if (isNotInstalled(error)) return undefined;
    throw error;
  }
}

/** True where the package itself is missing; a package that it needs in turn is a broken installation, which says so. */
function isNotInstalled(error: unknown): boolean {
  const { code, message = '' } = error as { code?: string; message?: string };
  return /MODULE_NOT_FOUND$/.test(code ?? '') && /Cannot find (package|module) 'graphile-worker'/.test(message);
}

/** The error for tasks that nobody can run. */
export function graphileWorkerMissing(tasks: string[]): ConfigurationError {
  return new ConfigurationError(
    `Jobs are run by graphile-worker, which is not installed. Run: ${INSTALL}. Tasks: ${tasks.join(', ')}.`,
    { existing: 'no package graphile-worker', expected: 'graphile-worker 0.17' },
  );
}
