import { AsyncLocalStorage } from 'node:async_hooks';
import { bare, plainClient } from './order.ts';
import { load } from './rounds.ts';

/** The bare transaction, with an async context or without. `with` or `without`; answers its sample. */
const plain = plainClient();
const measure = async () => {
  const run = (n: number) => bare(plain, n);
  await load(run, 3000);
  process.send?.(await load(run, 3000));
  await plain.$disconnect();
};
await (process.argv[2] === 'with' ? new AsyncLocalStorage().run({}, measure) : measure());
