import type { Call, Outcome } from './call.ts';
import type { Params } from './params.ts';
import { invalid, missing } from './stripe-error.ts';

interface Listed {
  id: string;
  created: number;
}

/** Newest first, in Stripe's pages (`limit`, `starting_after`), narrowed by `created[gte]` and its like. */
export function list<T extends Listed>({ params, path }: Call, oldestFirst: T[]): Outcome {
  const created = createdFilter(params);
  const all = oldestFirst.filter(created).reverse();
  const after = params.text('starting_after');
  const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) throw missing('object', after, 'starting_after');
  const data = all.slice(start, start + limit(params));
  return { status: 200, body: { object: 'list', data, has_more: start + data.length < all.length, url: path } };
}

/**
 * Stripe's search of payment intents: `metadata['key']:'value'` and `status:'value'`, joined by AND. Unlike Stripe's,
 * which lags by up to a minute, it finds what was made just before.
 */
export function searchIntents({ ledger, params, path }: Call): Outcome {
  const clauses = params
    .required('query')
    .split(/\s+AND\s+/i)
    .map(parseClause);
  const found = ledger
    .all('payment_intent')
    .filter((intent) =>
      clauses.every(({ key, value }) => (key === null ? intent.status : intent.metadata[key]) === value),
    )
    .reverse();
  const start = Number(params.text('page') ?? 0) || 0;
  const data = found.slice(start, start + limit(params));
  const has_more = start + data.length < found.length;
  const next_page = has_more ? String(start + data.length) : null;
  return { status: 200, body: { object: 'search_result', data, has_more, next_page, url: path } };
}

function parseClause(clause: string): { key: string | null; value: string } {
  const [, field, key, value] = /^\s*(metadata\[(["'].*?["'])\]|status)\s*:\s*(["'].*["'])\s*$/.exec(clause) ?? [];
  if (field === undefined || value === undefined) {
    const known = "metadata['key']:'value' and status:'value', joined by AND";
    throw invalid(`We were unable to parse your search query. The local gateway knows ${known}.`, 'query');
  }
  return { key: key === undefined ? null : unquote(key), value: unquote(value) };
}

function unquote(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/g, '$1');
}

function limit(params: Params): number {
  return params.integer('limit', { min: 1, max: 100 }) ?? 10;
}

function createdFilter(params: Params): (object: Listed) => boolean {
  const bound = (name: string) => params.integer(name, { min: 0, max: Number.MAX_SAFE_INTEGER });
  const [at, gte, gt, lte, lt] = ['', '[gte]', '[gt]', '[lte]', '[lt]'].map((suffix) => bound(`created${suffix}`));
  return ({ created }) =>
    (at === undefined || created === at) &&
    (gte === undefined || created >= gte) &&
    (gt === undefined || created > gt) &&
    (lte === undefined || created <= lte) &&
    (lt === undefined || created < lt);
}
