import { execFile } from 'node:child_process';
import { chown, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { migrate } from '../../scripts/services/migrate.ts';
import { createCluster, type Server, startServer } from '../../scripts/services/postgres.ts';
import { findPlace, type Place } from '../../scripts/services/postgres-place.ts';
import { seed } from '../../scripts/services/seed.ts';
import { Link } from './link.ts';

const run = promisify(execFile);

/** How the primary ships what it commits. */
export interface Setting {
  name: string;
  /** Of the primary's configuration. */
  flags: string[];
  /** An acknowledged intent must be there after every failover. Else the standby is behind when the primary fails. */
  isDurable: boolean;
  /** Asked for by each operation. */
  durability?: 'replicated';
}

// Killed processes lose no page of the operating system's: only the machine's own death would.
const FLAGS = [
  'fsync=off',
  'full_page_writes=off',
  'autovacuum=off',
  'max_connections=200',
  'wal_retrieve_retry_interval=100ms',
];
const WAIT_MS = 20_000;

/**
 * A primary and its streaming standby, on one machine, with a network between them and in front of them. After a failover
 * the standby is the primary, and `form` makes a new standby of the other. Where operations wait for a standby, the new
 * primary has one: it follows the standby from the beginning.
 */
export class Cluster {
  /** The network that apps connect through, wherever the primary is. */
  readonly apps: Link;
  primary!: Server;
  standby!: Server;
  #follower: Server | undefined;
  #replication: Link | undefined;
  /** The primary's, the standby's and the follower's. */
  #places: [Place, Place, Place];

  private constructor(apps: Link, places: [Place, Place, Place]) {
    this.apps = apps;
    this.#places = places;
  }

  /** An empty shop, migrated and seeded. No server runs before `form`. */
  static async create(): Promise<Cluster> {
    const place = await findPlace('failover', () => {});
    const places: [Place, Place, Place] = [
      { ...place, home: `${place.home}-1` },
      { ...place, home: `${place.home}-2` },
      { ...place, home: `${place.home}-3` },
    ];
    for (const { home } of places) await rm(home, { recursive: true, force: true });
    await createCluster(places[0]);
    for (const { home } of places.slice(1)) await run('mkdir', ['-p', home]);
    const server = await startServer(places[0], { flags: FLAGS });
    await migrate(server.url);
    await seed(server.url);
    await server.stop();
    return new Cluster(await Link.open(), places);
  }

  /** The address of the database as apps know it, for ever the same. */
  get url(): string {
    return Object.assign(new URL(this.primary.url), { port: String(this.apps.port) }).href;
  }

  /** Lets a primary and a standby run, which has all that the primary has. */
  async form({ flags, durability }: Setting): Promise<void> {
    await this.#stop();
    const [first, second, third] = this.#places;
    for (const { home } of durability ? [second, third] : [second]) {
      await rm(path.join(home, 'data'), { recursive: true, force: true });
      await run('cp', ['-a', '--reflink=auto', path.join(first.home, 'data'), home]);
      await run('cp', ['-a', path.join(first.home, 'password'), home]);
    }
    this.primary = await startServer(first, { flags: [...FLAGS, ...flags] });
    this.#replication = await Link.open();
    this.#replication.leadTo(portOf(this.primary));
    this.standby = await this.#startStandby(second, this.#replication.port, durability ? flags : []);
    if (durability) this.#follower = await this.#startStandby(third, portOf(this.standby));
    await this.#untilStreaming(flags.some((flag) => flag.startsWith('synchronous_standby_names')));
    this.apps.leadTo(portOf(this.primary));
  }

  /** No more of the primary's changes arrive at the standby. */
  cutReplication(): void {
    this.#replication?.reset();
  }

  /** The primary that was killed comes back, as the standby of nobody: it has all that it had, and takes no writes. */
  async reviveReadOnly(): Promise<void> {
    this.primary = await this.#startStandby(this.#places[0], this.#replication?.port ?? 0);
  }

  /** Makes the standby the primary. Resolves when it takes writes. */
  async promote(): Promise<void> {
    await query(this.standby, 'SELECT pg_promote(true, 60)');
    [this.primary, this.standby] = [this.standby, this.primary];
    const [old, place, third] = this.#places;
    this.#places = [place, old, third];
  }

  async close(): Promise<void> {
    await this.#stop();
    await this.apps.close();
    for (const { home } of this.#places) await rm(home, { recursive: true, force: true });
  }

  async #stop(): Promise<void> {
    await this.#follower?.kill();
    this.#follower = undefined;
    await this.standby?.kill(); // one that waits for its own standby would not let go of its clients
    await this.primary?.stop();
    await this.#replication?.close();
    this.#replication = undefined;
  }

  /** @param port of the server that it follows */
  async #startStandby(place: Place, port: number, flags: readonly string[] = []): Promise<Server> {
    const signal = path.join(place.home, 'data', 'standby.signal');
    await writeFile(signal, '');
    if (place.owner) await chown(signal, place.owner.uid, place.owner.gid);
    const password = (await readFile(path.join(place.home, 'password'), 'utf8')).trim();
    const source = `host=127.0.0.1 port=${port} user=postgres password=${password} application_name=standby`;
    return await startServer(place, { flags: [...FLAGS, ...flags, `primary_conninfo=${source}`] });
  }

  async #untilStreaming(isSynchronous: boolean): Promise<void> {
    const state = isSynchronous ? `sync_state <> 'async'` : 'true';
    const caughtUp = `SELECT FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn >= pg_current_wal_lsn() AND ${state}`;
    const deadline = performance.now() + WAIT_MS;
    while ((await query(this.primary, caughtUp)).length === 0) {
      if (performance.now() > deadline) throw new Error('The standby does not follow the primary.');
      await sleep(20);
    }
  }
}

export const portOf = (server: Server): number => Number(new URL(server.url).port);

/** Asks a server itself, past the link. */
export async function query<Row>(server: Server, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: server.url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}
