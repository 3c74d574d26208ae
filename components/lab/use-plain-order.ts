'use client';

import { useRef, useState } from 'react';
import type { PlainResult } from '../../shop/lab/order.ts';

/** A form's own idea of how it stands: what the last answer said. */
type PlainState = 'idle' | 'waiting' | 'done' | 'failed';

export interface PlainOrder {
  state: PlainState;
  result: PlainResult | null;
  send: (form: FormData) => void;
  reset: () => void;
  /** As of this moment, between two renderings as well. */
  now: () => PlainState;
}

const WENT_WRONG: PlainResult = { ok: false, message: 'Something went wrong. Please try again.' };

/** Posts a form as it is usually done: fetch, and an error when there is no answer. Nothing against a second click. */
export function usePlainOrder(onState: (state: Exclude<PlainState, 'idle'>) => void): PlainOrder {
  const [result, setResult] = useState<PlainResult | null>(null);
  const [state, setState] = useState<PlainState>('idle');
  const latest = useRef<{ state: PlainState; pending: number }>({ state: 'idle', pending: 0 });

  const go = (next: PlainState) => {
    latest.current.state = next;
    setState(next);
    if (next !== 'idle') onState(next);
  };
  const send = async (form: FormData) => {
    latest.current.pending += 1;
    go('waiting');
    const answer = await post(form);
    latest.current.pending -= 1;
    setResult(answer);
    if (latest.current.pending === 0) go(answer.ok ? 'done' : 'failed');
  };
  const reset = () => {
    setResult(null);
    go('idle');
  };
  return { state, result, send: (form) => void send(form), reset, now: () => latest.current.state };
}

async function post(body: FormData): Promise<PlainResult> {
  try {
    const answer = await fetch('/api/lab/plain', { method: 'POST', body, headers: { Accept: 'application/json' } });
    return answer.ok ? await answer.json() : WENT_WRONG;
  } catch {
    return WENT_WRONG;
  }
}
