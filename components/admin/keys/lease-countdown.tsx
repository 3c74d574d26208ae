'use client';

import { useEffect, useState } from 'react';

/**
 * How long a lease still lasts, counted down. `now` is the server's, by which it is keyed: this browser's clock may be wrong.
 */
export function LeaseCountdown({ until, now }: { until: number; now: number }) {
  const [passedMs, setPassed] = useState(0);
  useEffect(() => {
    const begun = performance.now();
    const timer = setInterval(() => setPassed(performance.now() - begun), 500);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.round((until - now - passedMs) / 1000);
  return (
    <span role="timer" className="font-medium tabular-nums">
      {seconds > 0 ? `${spanOf(seconds)} left` : `over for ${spanOf(-seconds)}`}
    </span>
  );
}

function spanOf(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`;
}
