import { readdirSync, readFileSync } from 'node:fs';

/**
 * Processor time of PostgreSQL's processes since a moment, in microseconds; NaN where /proc does not tell (that is, off
 * Linux). Of all on this machine, so nobody else's may be busy. By process, because the sum falls when one of them ends.
 */
export function postgresMeter(): () => number {
  const before = postgresCpuUs();
  return () => {
    const now = postgresCpuUs();
    if (now.size === 0) return Number.NaN;
    return [...now].reduce((sum, [pid, us]) => sum + us - (before.get(pid) ?? 0), 0);
  };
}

/** The same of one process, with all its threads. */
export function processMeter(pid: number): () => number {
  const before = cpuUs(pid);
  return () => cpuUs(pid) - before;
}

function postgresCpuUs(): Map<string, number> {
  const us = new Map<string, number>();
  for (const pid of process.platform === 'linux' ? readdirSync('/proc') : []) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      if (stat.includes('(postgres)')) us.set(pid, usOf(stat));
    } catch {} // it ended while we looked
  }
  return us;
}

function cpuUs(pid: number): number {
  return process.platform === 'linux' ? usOf(readFileSync(`/proc/${pid}/stat`, 'utf8')) : Number.NaN;
}

/** Linux counts in hundredths of a second, of user and of system time. */
function usOf(stat: string): number {
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) * 10_000;
}
