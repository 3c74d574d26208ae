import { createMessagesAdmin } from '../../admin/messages-admin.ts';
import { createInbox, createOutbox } from '../../messaging/prisma.ts';
import type { PrismaClientLike } from '../../store/prisma/client.ts';
import type { Tables } from '../../store/prisma/tables.ts';
import { loadEnv } from '../app/env.ts';
import { folderTree } from '../app/file-tree.ts';
import { tablesOf } from '../app/next-app.ts';
import type { Command } from '../command.ts';
import { runOnDatabase } from '../raw-client.ts';
import { readMessagesRequest } from './arguments.ts';
import { runMessages } from './commands.ts';

const help = `oncekit messages list                                      what is not settled, newest first
oncekit messages requeue <destination|source> <event id>   tries a dead letter again, or one that was skipped
oncekit messages requeue-all <destination>                 tries all its dead letters again
oncekit messages skip <destination> <event id>             lets a destination go on without its dead letter
oncekit messages abandon <destination>                     gives up all that waits for a destination that is gone
oncekit messages resume <destination>                      lets a destination go on that was stopped

  --yes            for abandon: yes, all of it
  --actor <name>   who does it, for the record. Left out: the user of this machine
  --box <box>      outbox or inbox. Left out: both; requeue looks into the outbox first
  --state <state>  for list: dead, pending, delivered, skipped (outbox), dead, failed, processed (inbox)
  --limit <n>      for list: how many of each state, at most 1000. Left out: 50

DATABASE_URL says which database; the app is not loaded, and no destination is called. Payloads are not shown. Ends with 0
when it is done, with 1 when nothing was done, and says why, and with 2 when it was asked for something that does not exist.`;

async function run(args: string[]): Promise<number> {
  const request = readMessagesRequest(args);
  const root = process.cwd();
  loadEnv(root);
  const tables = tablesOf(folderTree(root));
  return await runOnDatabase((prisma) => runMessages(bareMessagesAdmin(prisma, tables), request));
}

/** Without destinations and sources: all that a person does here happens in the database. */
export function bareMessagesAdmin(prisma: PrismaClientLike, tables?: Tables) {
  const kit = { prisma, ...(tables && { tables }) };
  return createMessagesAdmin({ outbox: createOutbox({ ...kit, destinations: [] }), inbox: createInbox(kit) });
}

export const messages: Command = { help, run };
