#!/usr/bin/env node
import { CliError, type Command, UsageError } from './command.ts';

const HELP = `oncekit <command>

  init       adds the kit to the Next.js app in this folder
  add        writes an operation, or a page with a form for one
  remove     takes the kit out of the app again, and writes the migration that drops its tables
  doctor     looks whether app, database and worker are set up to work together
  worker     finishes what others have begun, until it is stopped
  complete   finishes, once, what is due          reap   deletes, once, what is past its retention
  relay      sends, once, the events that are due inbox  runs, once, received events again that failed
  keys       lists and shows keys, releases and fences one
  messages   lists events that are not settled; tries a dead letter again, or goes on without it
  reconcile  enters what the outside knows and the database has lost

  oncekit <command> --help says more.`;

/** Each is loaded when it is asked for: init must run where neither a database nor its driver is. */
const COMMANDS: Record<string, () => Promise<Command>> = {
  init: async () => (await import('./init/init.ts')).init,
  add: async () => (await import('./add/add.ts')).add,
  remove: async () => (await import('./remove/remove.ts')).remove,
  doctor: async () => (await import('./doctor/doctor.ts')).doctor,
  worker: async () => (await import('./worker.ts')).worker,
  complete: async () => (await import('./passes.ts')).passNamed('complete'),
  reap: async () => (await import('./passes.ts')).passNamed('reap'),
  relay: async () => (await import('./passes.ts')).passNamed('relay'),
  keys: async () => (await import('./keys/keys.ts')).keys,
  inbox: async () => (await import('./passes.ts')).passNamed('inbox'),
  messages: async () => (await import('./messages/messages.ts')).messages,
  reconcile: async () => (await import('./reconcile/reconcile.ts')).reconcile,
};

async function main([name, ...args]: string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    console.log(HELP);
    return 0;
  }
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!load) throw new UsageError(`There is no "${name}".`, `There is: ${Object.keys(COMMANDS).join(', ')}.`);
  const command = await load();
  if (args.includes('--help') || args.includes('-h')) {
    console.log(command.help);
    return 0;
  }
  return await command.run(args);
}

// The reader of the output may have seen enough: `oncekit init --dry-run | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
try {
  // The app's client keeps connections, which nobody else closes.
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof CliError)) throw error;
  console.error(error.message);
  if (error.fix) console.error(`Fix: ${error.fix}`);
  process.exit(error.exitCode);
}
