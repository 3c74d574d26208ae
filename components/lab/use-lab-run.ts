'use client';

import { useEffect, useRef, useState } from 'react';
import type { LabReport } from '../../shop/lab/report.ts';
import { type BrowserEvent, onOtherTabs, recall, remember } from './lab-memory.ts';
import { requestsOf, type SeenRequest } from './proxy-client.ts';

const EVERY_MS = 300;

interface Options {
  /** The run that the page came with. */
  begun: string | null;
  rendered: LabReport | null;
  /** For how long nothing may happen before nobody looks any more. */
  quietMs: number;
  /** Something is under way, as of this moment. */
  isBusy: () => boolean;
}

/** A run as it goes on: what the browser notes, and what proxy, database and gateway say, asked while it moves. */
export function useLabRun({ begun, rendered, quietMs, isBusy }: Options) {
  const [run, setRun] = useState(begun);
  /** Null until the page runs. */
  const [events, setEvents] = useState<BrowserEvent[] | null>(null);
  const [seen, setSeen] = useState<SeenRequest[] | null>(null);
  const [report, setReport] = useState(rendered);
  /** True: the counts were taken after all was over. */
  const [isFinal, setIsFinal] = useState(false);
  const live = useRef({
    run: begun,
    changedAt: 0,
    isWatching: false,
    isGone: false,
    isPaused: false,
    said: '',
    isBusy,
  });
  useEffect(() => {
    live.current.isBusy = isBusy;
  });

  const refresh = async (of: string) => {
    if (live.current.isPaused) return;
    const asked = await Promise.allSettled([requestsOf(of), reportNow()]);
    if (live.current.run !== of || live.current.isPaused) return;
    const [requests, told] = asked.map((each) => (each.status === 'fulfilled' ? each.value : null));
    if (requests) setSeen(requests as SeenRequest[]);
    if (told) setReport(told as LabReport);
    const said = JSON.stringify([requests, told]);
    if (said !== live.current.said) live.current.changedAt = Date.now();
    live.current.said = said;
  };

  const watch = async () => {
    const state = live.current;
    state.changedAt = Date.now();
    if (state.isWatching) return;
    state.isWatching = true;
    while (!state.isGone && state.run) {
      const wasBusy = state.isBusy();
      await refresh(state.run);
      setIsFinal(!wasBusy && !state.isBusy());
      if (!state.isBusy() && Date.now() - state.changedAt > quietMs) break;
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    state.isWatching = false;
  };
  const latest = useRef(watch);
  useEffect(() => {
    latest.current = watch;
  });

  useEffect(() => {
    const state = live.current;
    state.isGone = false;
    setEvents(recall(state.run));
    if (state.run) void latest.current();
    const stop = onOtherTabs(() => {
      setEvents(recall(state.run));
      if (state.run) void latest.current();
    });
    return () => {
      state.isGone = true;
      stop();
    };
  }, []);

  return {
    run,
    events,
    seen,
    report,
    isFinal,
    /** As of this moment, before the page shows it as well. */
    isBegun: () => live.current.run !== null,
    begin: (id: string) => {
      Object.assign(live.current, { run: id, said: '' });
      setRun(id);
      setEvents([]);
      setSeen([]);
      setReport(null);
      setIsFinal(false);
      void watch();
    },
    note: (event: BrowserEvent) => {
      const { run: current } = live.current;
      if (!current) return;
      setEvents(remember(current, event));
      setIsFinal(false);
      void watch();
    },
    /** While the session is away, nobody can say what is whose. */
    pause: (isPaused: boolean) => {
      live.current.isPaused = isPaused;
    },
  };
}

async function reportNow(): Promise<LabReport | null> {
  const answer = await fetch('/api/lab/run', { cache: 'no-store' });
  return answer.ok ? await answer.json() : null;
}
