import type { Status, Transition } from 'oncekit/react';
import type { Side } from '../../shop/lab/crash.ts';

/** Something that happened in the browser. Milliseconds since 1970. */
export type BrowserEvent =
  | { at: number; kind: 'click'; side: Side }
  | { at: number; kind: 'step'; side: 'with'; to: Status; event: string; attempt: number }
  | { at: number; kind: 'step'; side: 'without'; to: 'waiting' | 'done' | 'failed' };

const NAME = 'oncekit-lab';

/** The browser's events in this run, in all of its tabs and before a reload; none of another run. */
export function recall(run: string | null): BrowserEvent[] {
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? 'null') as { run: string; events: BrowserEvent[] } | null;
    return kept?.run === run && run !== null ? kept.events : [];
  } catch {
    return []; // storage that is blocked, or holds something else
  }
}

/** Adds an event to the run, and returns all of them. */
export function remember(run: string, event: BrowserEvent): BrowserEvent[] {
  const events = [...recall(run), event];
  try {
    localStorage.setItem(NAME, JSON.stringify({ run, events }));
  } catch {
    // Blocked: the timeline has no browser lane then.
  }
  return events;
}

/** Calls back when another tab has added something. Returns how to stop. */
export function onOtherTabs(callback: () => void): () => void {
  const heard = ({ key }: StorageEvent) => key === NAME && callback();
  addEventListener('storage', heard);
  return () => removeEventListener('storage', heard);
}

/** A step of the kit's form, for the record. */
export function stepOf({ to, event, attempt }: Transition): BrowserEvent {
  return { at: Date.now(), kind: 'step', side: 'with', to, event, attempt };
}
