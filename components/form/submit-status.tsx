'use client';

import { SubmitStatus as Status, type SubmitStatusProps } from 'oncekit/react';

/** Room for most of what it says, so that the page stands still. */
const area = 'grid min-h-24 content-start gap-3';

const words = [
  'relative overflow-hidden rounded-lg bg-info-surface text-info not-empty:px-4 not-empty:py-3',
  'data-[state=idle]:bg-transparent data-[state=idle]:p-0 data-[state=idle]:text-muted',
  'data-[state=hasSucceeded]:bg-good-surface data-[state=hasSucceeded]:text-good',
  'data-[state=hasErrored]:bg-bad-surface data-[state=hasErrored]:text-bad',
  'data-[state=unknown]:bg-warn-surface data-[state=unknown]:text-warn',
  'data-[state=offline]:bg-warn-surface data-[state=offline]:text-warn',
].join(' ');

/** "Check again" and "Start over", where they help. */
const buttons = [
  '*:data-action:min-h-11 *:data-action:rounded-lg *:data-action:border *:data-action:border-strong-line',
  '*:data-action:bg-surface *:data-action:px-4 *:data-action:py-2 *:data-action:font-medium',
  '*:data-action:aria-disabled:cursor-not-allowed *:data-action:aria-disabled:opacity-70',
  '[&>a]:font-medium [&>a]:text-accent [&>a]:underline [&>a]:underline-offset-2',
].join(' ');

/** The kit's words for every state of a submit, each state in its colour. They are read out as they change. */
export function SubmitStatus<R>({ className = '', ...status }: SubmitStatusProps<R>) {
  return (
    <div className={`${area} ${buttons} ${className}`}>
      <Status {...status} className={words} />
    </div>
  );
}
