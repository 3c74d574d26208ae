/** Doctor in a process of its own, which examines one app after the other: to start one for each would take minutes. */
import { examine } from './doctor.ts';

const own = { ...process.env };

process.on('message', async ({ root, env }: { root: string; env: NodeJS.ProcessEnv }) => {
  for (const name of Object.keys(process.env)) if (!(name in own)) delete process.env[name];
  Object.assign(process.env, own, env);
  process.chdir(root);
  try {
    process.send?.({ findings: await examine(root) });
  } catch (error) {
    process.send?.({ error: String((error as Error).stack) });
  }
});
