import { randomBytes } from 'node:crypto';
import { cookies } from 'next/headers.js';
import { db } from '../db.ts';
import { isLabOpen } from './proxy.ts';

/** One play of a preset, by one visitor: what it is told apart from others by, and since when things count. */
export interface LabRun {
  /** Also what the fault proxy knows the visitor by. */
  id: string;
  /** The preset's slug. */
  preset: string;
  since: Date;
}

/** The fault proxy's name for it (simulators/network/faults.ts). */
const COOKIE = 'oncekit_lab';
const LIFETIME_S = 3600;

/** The run that this browser is in; null: it has begun none, or it was long ago. */
export async function currentRun(): Promise<LabRun | null> {
  const id = (await cookies()).get(COOKIE)?.value ?? '';
  const [, preset, at] = /^([a-z-]{1,30})_[0-9a-f]{16}_(\d{13})$/.exec(id) ?? [];
  const since = Number(at);
  // What it holds anybody can write: a time long ago would have the whole table of keys read.
  const isRecent = since > Date.now() - LIFETIME_S * 1000;
  return preset && isRecent && isLabOpen() ? { id, preset, since: new Date(since) } : null;
}

/** Begins a run of this preset, by the database's clock. What was broken for an earlier one hits nobody any more. */
export async function beginRun(preset: string): Promise<LabRun> {
  const [row] = await db().$queryRaw<
    { ms: number }[]
  >`SELECT floor(date_part('epoch', clock_timestamp()) * 1000) AS ms`;
  const since = new Date(row?.ms ?? Date.now());
  const id = `${preset}_${randomBytes(8).toString('hex')}_${since.getTime()}`;
  (await cookies()).set(COOKIE, id, { httpOnly: true, sameSite: 'lax', path: '/', maxAge: LIFETIME_S });
  return { id, preset, since };
}
