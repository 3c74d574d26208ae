import { randomUUID } from 'node:crypto';
import type { Principal } from 'oncekit';
import { db } from '../db.ts';
import { listProducts } from '../orders/products.ts';

/** Keys that begin so are the proof's. */
export const PROOF_PREFIX = 'prove-';

const POSTS = 50;

/** The query that counts, as it is shown and as it is run. */
const SQL = `SELECT 'idempotency_keys' AS "table", count(*)::int AS rows
  FROM idempotency_keys WHERE principal = $1 AND key = $2
UNION ALL
SELECT 'orders', count(*)::int
  FROM orders WHERE principal = $1 AND idempotency_key = $2`;

export interface LabProof {
  posts: number;
  key: string;
  /** How often each answer came: the header `Idempotency-Status`, or the HTTP status of a refusal. */
  answers: { name: string; count: number }[];
  /** How many different orders the answers name. */
  orders: number;
  sql: string;
  rows: { table: string; rows: number }[];
}

/**
 * Sends fifty posts with one key at once, over HTTP to this server's own route, and counts what is in the database.
 *
 * @param cookie the visitor's own: the posts are theirs
 */
export async function prove({ principal }: Principal, cookie: string): Promise<LabProof> {
  const key = `${PROOF_PREFIX}${randomUUID()}`;
  const [product] = (await listProducts()).toSorted((a, b) => b.stock - a.stock);
  const body = JSON.stringify({ sku: product?.sku, quantity: 1 });
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': `"${key}"`, Cookie: cookie };
  // Next says on which port it listens. Not the request's Host: anybody can write one.
  const url = `http://127.0.0.1:${process.env.PORT}/api/lab/orders`;
  const post = async () => {
    const answer = await fetch(url, { method: 'POST', headers, body });
    const { id } = (await answer.json()) as { id?: unknown };
    return { name: answer.headers.get('idempotency-status') ?? String(answer.status), id };
  };
  const answers = await Promise.all(Array.from({ length: POSTS }, post));
  const counts = new Map<string, number>();
  for (const { name } of answers) counts.set(name, (counts.get(name) ?? 0) + 1);
  return {
    posts: POSTS,
    key,
    answers: [...counts].map(([name, count]) => ({ name, count })).toSorted((a, b) => a.count - b.count),
    orders: new Set(answers.flatMap(({ id }) => (typeof id === 'string' ? id : []))).size,
    sql: SQL,
    rows: await db().$queryRawUnsafe<LabProof['rows']>(SQL, principal, key),
  };
}
