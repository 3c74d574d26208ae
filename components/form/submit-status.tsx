'use client';

import { ErrorSummary, type IdempotentSubmit, SubmitStatus as Status, type SubmitStatusProps } from 'oncekit/react';

/** Room for most of what it says, so that the page stands still. */
const area = 'grid min-h-24 content-start gap-3';

const words = [
  'relative overflow-hidden rounded-lg bg-info-surface text-info not-empty:px-4 not-empty:py-3 forced-colors:not-empty:border',
  'data-[state=idle]:bg-transparent data-[state=idle]:p-0 data-[state=idle]:text-muted',
  'data-[state=hasSucceeded]:bg-good-surface data-[state=hasSucceeded]:text-good',
  'data-[state=hasErrored]:bg-bad-surface data-[state=hasErrored]:text-bad',
  // Without a button to check, it tries again by itself: under way, and nothing to be warned of.
  'data-[state=unknown]:has-[~[data-action=check]]:bg-warn-surface data-[state=unknown]:has-[~[data-action=check]]:text-warn',
  'data-[state=offline]:bg-warn-surface data-[state=offline]:text-warn',
].join(' ');

/** "Check again", "Send once more" and "Start over", where they help. */
const buttons = [
  '*:data-action:min-h-11 *:data-action:rounded-lg *:data-action:px-4 *:data-action:py-2 *:data-action:font-medium',
  '*:data-[action=check]:border *:data-[action=check]:border-strong-line *:data-[action=check]:bg-surface',
  '*:data-[action=send-again]:border *:data-[action=send-again]:border-strong-line *:data-[action=send-again]:bg-surface',
  // In doubt, asking helps most, so that button is the prominent one. A form that has not arrived is better sent again.
  '[&:not([data-cause=absent],[data-cause=unreadable])>[data-state=unknown]~[data-action=check]]:border-transparent',
  '[&:not([data-cause=absent],[data-cause=unreadable])>[data-state=unknown]~[data-action=check]]:bg-accent',
  '[&:not([data-cause=absent],[data-cause=unreadable])>[data-state=unknown]~[data-action=check]]:text-on-accent',
  '*:data-[action=start-over]:justify-self-center *:data-[action=start-over]:text-muted',
  '*:data-[action=start-over]:underline *:data-[action=start-over]:underline-offset-2',
  '*:data-action:aria-disabled:cursor-not-allowed *:data-action:aria-disabled:opacity-70',
  '[&>a]:font-medium [&>a]:text-accent [&>a]:underline [&>a]:underline-offset-2',
].join(' ');

/** The summary says what is wrong, field by field. */
const summary =
  '-mt-4 grid gap-1 rounded-b-lg bg-bad-surface px-4 pb-3 text-bad [&_a]:underline [&_a]:underline-offset-2';

/** The page was open for too long: another one says how things stand. */
function isTooOld({ status, result }: Pick<IdempotentSubmit<unknown>, 'status' | 'result'>): boolean {
  return status === 'hasErrored' && result?.ok === false && result.code === 'key_expired';
}

/** The kit's words for every state of a submit, each state in its colour. They are read out as they change. */
export function SubmitStatus<R>({ className = '', ...status }: SubmitStatusProps<R>) {
  return (
    <div className={`${area} ${buttons} ${className}`} data-cause={status.submit.cause}>
      <Status {...status} className={words} />
      <ErrorSummary submit={status.submit} className={summary} />
      {/* biome-ignore lint/a11y/useValidAnchor: an empty address is that of this page, with its query */}
      {isTooOld(status.submit) ? <a href="">Reload this page</a> : null}
    </div>
  );
}
