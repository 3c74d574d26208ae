'use client';

import { useRouter } from 'next/navigation';
import { useEffect, useRef, useState, useTransition } from 'react';
import { Button } from '../../ui/button.tsx';

const EVERY_MS = 4000;
/** Nobody looks any more: the session may end. */
const UNATTENDED_MS = 5 * 60_000;

/**
 * Fetches the page's data anew every few seconds: while it is looked at, and not while somebody types or has begun to
 * confirm something. Without JavaScript, a reload does.
 *
 * @param probe an address that answers 200 when the page could be made; the page itself where there is none
 */
export function LiveUpdates({ probe }: { probe?: string | undefined }) {
  const { refresh } = useRouter();
  const [isOn, setOn] = useState(true);
  const [isAway, setAway] = useState(false);
  const [isLeft, setLeft] = useState(false);
  const touchedAt = useRef(0);
  const [isRefreshing, startRefresh] = useTransition();

  useEffect(() => {
    if (!isOn || isRefreshing) return;
    const touch = () => {
      touchedAt.current = performance.now();
    };
    const round = async () => {
      const isLeft = performance.now() - touchedAt.current > UNATTENDED_MS;
      setLeft(isLeft);
      if (document.visibilityState !== 'visible' || isBusy() || isLeft) return;
      // A refresh that finds nobody would leave the page, for the browser's own error.
      const isThere = await answers(probe);
      setAway(!isThere);
      if (isThere && !isBusy()) startRefresh(refresh);
    };
    const timer = setInterval(round, EVERY_MS);
    for (const gesture of GESTURES) addEventListener(gesture, touch, { passive: true });
    return () => {
      clearInterval(timer);
      for (const gesture of GESTURES) removeEventListener(gesture, touch);
    };
  }, [isOn, isRefreshing, refresh, probe]);

  return (
    <div className="text-sm text-muted">
      <p className="hidden noscript:block">Reload this page to see what is new.</p>
      <div className="flex flex-wrap items-center gap-3 noscript:hidden">
        <span data-live={isOn && !isAway && !isLeft}>{words(isOn, isAway, isLeft)}</span>
        <Button type="button" variant="quiet" onClick={() => setOn(!isOn)}>
          {isOn ? 'Pause updates' : 'Resume updates'}
        </Button>
      </div>
    </div>
  );
}

const GESTURES = ['pointerdown', 'pointermove', 'keydown', 'scroll'] as const;

function words(isOn: boolean, isAway: boolean, isLeft: boolean): string {
  if (!isOn) return 'Paused.';
  if (isLeft) return 'Paused: nobody has touched this page for five minutes.';
  return isAway ? 'Cannot be reached. What you see may be old.' : 'Updates by itself.';
}

function answers(probe: string | undefined): Promise<boolean> {
  const asked = probe
    ? fetch(probe, { cache: 'no-store' })
    : fetch(location.href, { method: 'HEAD', cache: 'no-store' });
  return asked.then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Somebody types, or has opened what asks for a confirmation. */
function isBusy(): boolean {
  const isTyping = document.activeElement?.matches('input:not([type=hidden]), select, textarea') ?? false;
  return isTyping || document.querySelector('dialog[open], details[data-confirm][open]') !== null;
}
