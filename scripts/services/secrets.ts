import { randomBytes, randomInt } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { weaknessOf } from '../../lib/core/secret-strength.ts';
import { secretComplaints } from '../../shop/env.ts';

const FILE = fileURLToPath(new URL('../../.data/secrets.json', import.meta.url));

const token = () => randomBytes(32).toString('base64url');

const GENERATORS = {
  IDEMPOTENCY_SECRET: token,
  SESSION_SECRET: token,
  ADMIN_PASSWORD: readablePassword,
  CRON_SECRET: token,
  METRICS_TOKEN: token,
  // The form of Stripe's: the local gateway signs webhooks with it, the shop checks them.
  STRIPE_WEBHOOK_SECRET: () => `whsec_${token()}`,
  // Standard Webhooks: plain base64. Signs what the shop tells others.
  EVENTS_WEBHOOK_SECRET: () => `whsec_${randomBytes(32).toString('base64')}`,
};

export type Secrets = Record<keyof typeof GENERATORS, string>;

/**
 * The demo's secrets: from the environment, else from `.data/secrets.json` (readable by its owner alone), else generated
 * and written there, so that keys and sessions survive a restart. What the environment sets is never written down, and
 * what an older version has written that can be guessed is made anew.
 * Throws a sentence when the file cannot be read as secrets, and for what the environment sets that can be guessed.
 */
export function loadSecrets({ file = FILE, env = process.env as Record<string, string | undefined> } = {}): Secrets {
  const kept = readStored(file);
  const names = Object.keys(GENERATORS) as (keyof Secrets)[];
  const made = names.filter((name) => !env[name] && (!kept[name] || weaknessOf(kept[name])));
  for (const name of made) kept[name] = GENERATORS[name]();
  if (made.length > 0) store(file, kept);
  const secrets = Object.fromEntries(names.map((name) => [name, env[name] || kept[name]])) as Secrets;
  const complaints = secretComplaints(secrets);
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
  return secrets;
}

function readStored(file: string): Partial<Secrets> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
    chmodSync(file, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  try {
    const stored: unknown = JSON.parse(text);
    if (
      typeof stored === 'object' &&
      stored !== null &&
      Object.values(stored).every((each) => typeof each === 'string')
    ) {
      return stored;
    }
  } catch {
    // The same sentence for both: what follows.
  }
  throw new Error(`${file} is damaged. Delete it to get new secrets; open forms and sessions will then be refused.`);
}

/** Written beside and renamed: a crash half-way leaves the old file or the new one. */
function store(file: string, secrets: Partial<Secrets>): void {
  mkdirSync(dirname(file), { recursive: true });
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  renameSync(beside, file);
}

/** Four groups of four, without characters that look alike: 79 bits. */
function readablePassword(): string {
  const letters = 'abcdefghjkmnpqrstuvwxyz23456789';
  const group = () => Array.from({ length: 4 }, () => letters[randomInt(letters.length)]).join('');
  return [group(), group(), group(), group()].join('-');
}
