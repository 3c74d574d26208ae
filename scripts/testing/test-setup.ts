/** The global setup of every project of Vitest's that needs a database: one server and one template for all of them. */
import setup from './vitest-global-setup.ts';

// On the global object: each project gets a copy of this module.
const held = globalThis as { oncekitTestSetup?: { users: number; done: Promise<() => Promise<void>> } };

export default async function setupOnce(): Promise<() => Promise<void>> {
  held.oncekitTestSetup ??= { users: 0, done: setup({ mayForget: true }) };
  const shared = held.oncekitTestSetup;
  shared.users++;
  const teardown = await shared.done;
  return async () => {
    if (--shared.users > 0) return;
    held.oncekitTestSetup = undefined;
    await teardown();
  };
}
