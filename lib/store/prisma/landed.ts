import { provesRollback } from './errors.ts';
import type { Framed } from './frame.ts';
import type { Landing } from './ride.ts';

/** What a transaction came to whose completion and COMMIT were sent in one flight. */
export function landed<Skipped>({ last, commit }: Landing, failure?: { error: unknown }): Framed<Skipped> {
  if ('error' in commit) {
    // Judged by what the server said. Prisma's own error may be that of a later try.
    const { kind } = failed<Skipped>(commit.error, 'commit');
    const error = failure ? failure.error : commit.error;
    return kind === 'rolled_back' ? { kind, error, at: 'last' } : { kind: 'in_doubt', error };
  }
  if (commit.tag === 'COMMIT' && 'rows' in last) return { kind: 'committed', last: last.rows, isProven: true };
  const error = 'error' in last ? last.error : new Error(`COMMIT was answered with ${commit.tag}.`);
  return { kind: 'rolled_back', error, at: 'last' };
}

/** What it came to, by what failed. */
export function failed<Skipped>(error: unknown, at: 'first' | 'work' | 'last' | 'commit'): Framed<Skipped> {
  if (at !== 'commit') return { kind: 'rolled_back', error, at };
  return provesRollback(error) ? { kind: 'rolled_back', error, at: 'last' } : { kind: 'in_doubt', error };
}
