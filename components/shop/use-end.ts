'use client';

import { useRouter } from 'next/navigation';
import type { IdempotentSubmit } from 'oncekit/react';
import { useEffect, useRef } from 'react';

const RUNNING: readonly string[] = ['in_flight', 'outcome_unknown'];

/** True while the server has what was sent, and does not know its end: to send it again helps nobody. */
export function isUnsettled({ cause, status, result }: Pick<IdempotentSubmit<unknown>, 'cause' | 'status' | 'result'>) {
  return cause === 'unsettled' || (status === 'checking' && result?.ok === false && RUNNING.includes(result.code));
}

/** True once a person has ended it, without the provider's word: sent again, it may get this answer again. */
export function isGivenUp({ status, result }: Pick<IdempotentSubmit<unknown>, 'status' | 'result'>) {
  return status === 'hasErrored' && result?.ok === false && result.reason === 'marked_failed';
}

/** Fetches the page anew when what the form knows of its order changes: it may say more of that order. */
export function useFreshPage(known: string): void {
  const { refresh } = useRouter();
  const fetched = useRef(known);
  useEffect(() => {
    if (fetched.current !== known) refresh();
    fetched.current = known;
  }, [known, refresh]);
}
