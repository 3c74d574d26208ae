import { errorLine } from '../core/printable.ts';
import { line, NEEDS, PASSES } from '../worker/passes.ts';
import { loadEnv } from './app/env.ts';
import { folderTree } from './app/file-tree.ts';
import { APP_HELP, APP_OPTIONS, loadApp } from './app/loader.ts';
import { unexportedBox } from './app/messaging-modules.ts';
import { CliError, type Command, flag, readArgs } from './command.ts';

const DOES: Record<string, string> = {
  complete: 'Finishes operations in phases that are due now: their process died, or their outcome is unknown.',
  reap: 'Deletes settled keys, and events sent and received, past their retention.',
  relay: 'Sends the events of the outbox that are due.',
  inbox: 'Runs received events again that failed and are due.',
};

/** A command that does once what a worker does all the time, and ends. */
export function passNamed(name: string): Command {
  const help = `oncekit ${name} [--json]

${DOES[name]} Once, then it ends: for cron and for scripts.
Safe beside workers and beside itself.

  --json                the figures, for a script
${APP_HELP}

Ends with 0 when it could look, whatever it found, else with 1.`;
  return {
    help,
    async run(args) {
      const { values } = readArgs(args, { json: flag, ...APP_OPTIONS });
      const root = process.cwd();
      loadEnv(root);
      const tree = folderTree(root);
      const app = await loadApp(root, tree, values);
      const box = NEEDS[name];
      if (box && !app[box]) {
        const hidden = unexportedBox(tree, box);
        if (hidden) throw new CliError(hidden.says, hidden.fix);
        throw new CliError(
          `The app exports no \`${box}\`, so there is nothing to ${name === 'inbox' ? 'run' : name}.`,
          `Write in lib/messaging.ts: export const ${box} = create${box === 'inbox' ? 'Inbox' : 'Outbox'}({ prisma });`,
        );
      }
      const run = PASSES[name] as (typeof PASSES)[string];
      const driven = { ...app.idempotency, outbox: app.outbox, inbox: app.inbox };
      const figures = await run(driven).catch((error) => {
        throw new CliError(`${name} failed: ${errorLine(error)}.`, 'Look at the database: npx oncekit doctor');
      });
      console.log(values.json ? JSON.stringify({ task: name, ...figures }) : line(name, figures));
      return 0;
    },
  };
}
