'use client';

import { useEffect, useReducer, useState } from 'react';
import { tryOr } from '../core/errors.ts';
import { askStatus } from './recovery/status-client.ts';
import { type KeyRecord, listIntents, openRecords } from './submission/storage.ts';

/** The form that this browser sent last, as an error page shows it. */
export interface LastSubmission {
  /**
   * `none`: nothing that concerns this page. `asking`: the status route is being asked. `leaving`: the page goes on by
   * itself. `succeeded`: it went through. `atForm`: the form knows more, or finds out. `unreachable`: the status route
   * did not answer, so nobody can say yet.
   */
  status: 'none' | 'asking' | 'leaving' | 'succeeded' | 'atForm' | 'unreachable';
  /** Which form it was: the `intent` that it was given. */
  intent?: string | undefined;
  /** The address to read more at: the page that shows what was done, or the form's own. */
  href?: string | undefined;
  /** Loads the page anew; where nobody answered, asks again first. */
  tryAgain: () => void;
}

/** How an error page asks about what was sent. */
export interface LastSubmissionOptions {
  /** The address of `statusRoute`. Default `/api/idempotency`, under Next's `basePath`. */
  statusUrl?: string | undefined;
  /** The operation of an intent, where forms name theirs. Default: the part before the first colon. */
  operation?: ((intent: string) => string) | undefined;
  /** Goes to an address. Default: a full page load that takes this page's place in the history. */
  load?: ((href: string) => void) | undefined;
}

type Found = Omit<LastSubmission, 'tryAgain'>;

/** Older submissions are old news on a page that is not theirs. */
const RECENT_MS = 5 * 60_000;
/** The submission to whose page this browser was last redirected by itself. */
const LAST_REDIRECTED = 'oncekit-led';

/**
 * For `error.tsx` and `global-error.tsx`: finds out what became of the form that was sent last, and leads there.
 *
 * An answer that breaks off in the middle makes React throw while it shows the next page, so the form is gone and an
 * error page stands in its place. The form's record is still in storage. This asks the status route about it once. On
 * the form's page, and within five minutes on any other, it then loads the order's page, the form's, or this one anew;
 * once for each time that the form was sent. A page that breaks again stays, with `href` to follow by hand.
 *
 * Knows the records in `sessionStorage`, `localStorage` and memory; a `KeyStorage` of your own cannot be listed.
 */
export function useLastSubmission(options: LastSubmissionOptions = {}): LastSubmission {
  const [found, setFound] = useState<Found>(() => asking(lastSubmission()));
  const [turn, askAgain] = useReducer((count: number) => count + 1, 0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: asked once a turn, however often the page renders
  useEffect(() => {
    const { load = loadInPlace } = options;
    const last = lastSubmission();
    setFound(asking(last));
    if (!last) return;
    let isGone = false;
    void learn(last, options).then(async ({ next, ...shown }) => {
      if (isGone) return;
      if (!next || !mayLead(last.record)) return setFound(shown);
      setFound({ ...shown, status: 'leaving' });
      await reopen(last);
      load(next);
    });
    return () => {
      isGone = true;
    };
  }, [turn]);

  const isUnreachable = found.status === 'unreachable';
  useEffect(() => {
    if (!isUnreachable) return;
    window.addEventListener('online', askAgain);
    return () => window.removeEventListener('online', askAgain);
  }, [isUnreachable]);

  return {
    ...found,
    tryAgain: () => (isUnreachable ? askAgain() : (options.load ?? loadInPlace)(location.href)),
  };
}

function asking(last: Submission | undefined): Found {
  return last ? { status: 'asking', intent: last.record.intent } : { status: 'none' };
}

/** Whichever form of this browser was sent last, where that concerns this page: its record, and the storage that has it. */
function lastSubmission() {
  if (typeof window === 'undefined') return undefined;
  const found = (['memory', 'session', 'local'] as const).flatMap((storage) => {
    const records = openRecords(storage);
    return listIntents(storage).flatMap((intent) => {
      const record = records.read(intent);
      return record ? [{ record, records }] : [];
    });
  });
  const [last] = found.sort((one, other) => other.record.submittedAt - one.record.submittedAt);
  return last && isConcerned(last.record) ? last : undefined;
}

type Submission = NonNullable<ReturnType<typeof lastSubmission>>;

/** A form that had its answer is news on its own page only: the answer may have gone with the page that broke. */
function isConcerned({ state, page, submittedAt }: KeyRecord): boolean {
  const isRecent = Date.now() - submittedAt < RECENT_MS;
  return state === 'settled' ? isRecent && isHere(page) : isRecent || isHere(page);
}

/** Asks once. The form's page asks on, for as long as it takes. `next`: what to load, where that helps. */
async function learn(
  { record, records }: Submission,
  options: LastSubmissionOptions,
): Promise<Found & { next?: string }> {
  const { intent, key } = record;
  const { statusUrl, operation } = options;
  const answer = await askStatus({ statusUrl, intent, operation: operation?.(intent) }, key, 'GET');
  // A key that only this page remembers would be forgotten with it, so its form cannot be the one who finds out.
  const isKept = records.isKept(intent);
  const page = isKept && isOfThisSite(record.page) ? record.page : undefined;
  // A server that cannot be reached cannot give the page either: this page, at least, is there.
  if (!answer || !(answer.outcome || isKept)) return { status: 'unreachable', intent };
  const { outcome, redirect } = answer;
  const found: Found = {
    status: outcome?.ok ? 'succeeded' : 'atForm',
    intent,
    href: (outcome?.ok && redirect) || page,
  };
  // Elsewhere than at its form, the router has gone on already: to the page that shows the answer, or where a person
  // wanted to go. Either way this is the page to load.
  const next = isHere(record.page) ? found.href : isKept && location.href;
  return next ? { ...found, next } : found;
}

/**
 * Has the form ask about an answer that had arrived, but that nobody has seen: its page broke in the same moment. Under
 * the lock, and only where the record is still the same: another tab may have sent the intent again.
 */
async function reopen({ record, records }: Submission): Promise<void> {
  const { intent, key } = record;
  if (record.state !== 'settled') return;
  await records.withLock(intent, () => {
    const now = records.read(intent);
    const isSame = now?.key === key && now.state === 'settled';
    if (isSame) records.write(intent, { ...record, state: 'unknown', nextKey: undefined });
  });
}

/** Once for each time that a form was sent. Not where that cannot be remembered: it would go round for ever. */
function mayLead({ key, submittedAt }: KeyRecord): boolean {
  const name = `${key} ${submittedAt}`;
  return tryOr(() => {
    if (sessionStorage.getItem(LAST_REDIRECTED) === name) return false;
    sessionStorage.setItem(LAST_REDIRECTED, name);
    return sessionStorage.getItem(LAST_REDIRECTED) === name;
  }, false);
}

function isHere(href: string | undefined): boolean {
  if (!isOfThisSite(href)) return false;
  const { pathname, search } = new URL(href, location.href);
  return pathname === location.pathname && search === location.search;
}

/** Storage may have been tampered with: no address of another site, and none that is a script. */
function isOfThisSite(href: string | undefined): href is string {
  return (
    href !== undefined && URL.canParse(href, location.href) && new URL(href, location.href).origin === location.origin
  );
}

/** Without the fragment, which alone would load nothing; and never a second POST, as a reload of an answer would be. */
function loadInPlace(href: string): void {
  location.replace(href.replace(/#.*/s, ''));
}
