'use client';

import { useRouter } from 'next/navigation';
import type { IdempotentSubmit } from 'oncekit/react';
import { useEffect, useState } from 'react';

/** The kit says one of these where the session is not the one that the form was made for. */
const TURNED_AWAY: readonly string[] = ['key_invalid', 'unauthorized'];

/**
 * Has a form find out that the session is another one, and that it is the old one again. Returns whether something was
 * sent in the old session of which nobody knows what became.
 */
export function useOtherSession(submit: IdempotentSubmit<unknown>, isOurs: boolean): boolean {
  const { status, result, notice, isPending, check, reset } = submit;
  const { refresh } = useRouter();
  const refused = status === 'hasErrored' && result?.ok === false && TURNED_AWAY.includes(result.code);
  // The page knows whose cart it is, so it is asked.
  const isTurnedAway = refused || notice !== undefined;
  useEffect(() => {
    if (isTurnedAway) refresh();
  }, [isTurnedAway, refresh]);
  // A refused form was never sent before: the key of whoever signs in takes the place of the stranger's.
  useEffect(() => {
    if (!isOurs && refused) reset();
  }, [isOurs, refused, reset]);
  const isInDoubt = status === 'unknown' || status === 'hasNavigated';
  const [wasOurs, setWasOurs] = useState(isOurs);
  useEffect(() => {
    if (isOurs && !wasOurs && isInDoubt && !isPending) check();
    setWasOurs(isOurs);
  }, [isOurs, wasOurs, isInDoubt, isPending, check]);
  return isInDoubt;
}
