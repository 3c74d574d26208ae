'use client';

import type { IdempotentSubmit } from 'oncekit/react';
import { type RefObject, useEffect, useRef, useState } from 'react';
import type { Side } from '../../shop/lab/crash.ts';
import type { Preset } from '../../shop/lab/presets.ts';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import { type Actor, type Cast, play } from './plays.ts';
import { breakNetwork, requestsOf } from './proxy-client.ts';
import type { useLabRun } from './use-lab-run.ts';
import type { PlainOrder } from './use-plain-order.ts';

interface Parts {
  preset: Preset;
  lab: ReturnType<typeof useLabRun>;
  submit: IdempotentSubmit<PlacedOrder>;
  plain: PlainOrder;
  columns: Record<Side, RefObject<HTMLDivElement | null>>;
}

/** Plays a preset on the page's own two forms. */
export function usePlay({ preset, lab, submit, plain, columns }: Parts) {
  const [problem, setProblem] = useState<'no-proxy' | 'failed' | null>(null);
  const [isStarting, setIsStarting] = useState(false);
  const latest = useRef({ submit, plain });
  useEffect(() => {
    latest.current = { submit, plain };
  });
  const playing = useRef<AbortController | null>(null);
  useEffect(() => () => playing.current?.abort(), []);

  const cast = (signal: AbortSignal): Cast => ({
    kit: {
      ...actorIn(columns.with),
      state: () => {
        const { status, isPending } = latest.current.submit;
        if (status === 'hasSucceeded') return 'done';
        return isPending ? 'waiting' : status === 'idle' ? 'idle' : 'failed';
      },
      isInDoubt: () => ['unknown', 'retrying'].includes(latest.current.submit.status),
      check: () => latest.current.submit.check(),
    },
    plain: { ...actorIn(columns.without), state: () => latest.current.plain.now() },
    session: async (is) => {
      if (is === 'expired') lab.pause(true);
      await post('/api/lab/session', { is });
      if (is === 'restored') lab.pause(false);
    },
    signal,
  });

  const start = async () => {
    if (playing.current) return;
    const control = new AbortController();
    playing.current = control;
    setProblem(null);
    setIsStarting(true);
    try {
      if (!(await requestsOf('nobody'))) return setProblem('no-proxy');
      latest.current.submit.reset();
      latest.current.plain.reset();
      // Until the form shows its new key.
      await new Promise((resolve) => setTimeout(resolve, 50));
      const { run } = await (
        await post('/api/lab/run', { preset: preset.slug, key: latest.current.submit.key })
      ).json();
      await breakNetwork(run, preset);
      lab.begin(run);
      setIsStarting(false);
      await play(preset.play, cast(control.signal));
    } catch {
      if (!control.signal.aborted) setProblem('failed');
    } finally {
      playing.current = null;
      setIsStarting(false);
    }
  };
  return { start, problem, isStarting, isPlaying: () => playing.current !== null };
}

function actorIn(column: RefObject<HTMLDivElement | null>): Omit<Actor, 'state'> {
  return {
    click: () => column.current?.querySelector<HTMLButtonElement>('button[type=submit]')?.click(),
    edit: (quantity) => {
      const input = column.current?.querySelector<HTMLInputElement>('input[name=quantity]');
      if (!input) return;
      input.value = String(quantity);
      input.dispatchEvent(new Event('input', { bubbles: true }));
    },
  };
}

async function post(url: string, body: object): Promise<Response> {
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return answer;
}
