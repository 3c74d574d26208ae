import type { Fingerprint } from '../core/fingerprint.ts';
import type { KeyStateOrAbsent } from '../core/key-state.ts';
import type { KeyId } from '../core/scope.ts';
import { type Counted, countKey } from '../telemetry/keys.ts';
import type { Config } from './config.ts';
import { fingerprintPrefix, type LogEntry } from './log.ts';

/** A step from one state to another that has been committed. */
interface Transition {
  from: KeyStateOrAbsent;
  to: KeyStateOrAbsent;
  attempt?: number | undefined;
  fingerprint?: Fingerprint | null | undefined;
}

/** Counts and logs a transition that has been committed. Costs nothing where the app does neither. */
export function recordTransition(config: Config, id: KeyId, { from, to, attempt, fingerprint }: Transition): void {
  const counted = countedAs(from, to);
  if (counted) countKey(counted, id.operation);
  config.log?.({
    level: to === 'unknown' && from !== to ? 'warn' : 'info',
    msg: from === to ? 'key taken up again' : WORDS[to],
    operation: id.operation,
    key: id.key,
    fingerprint: fingerprintPrefix(fingerprint),
    attempt,
    from_state: from,
    to_state: to,
  });
}

// What a state is entered with. A key that is taken up again, by a retry or by the completer, enters the one it had.
const WORDS: Record<KeyStateOrAbsent, LogEntry['msg']> = {
  absent: 'key gone',
  in_progress: 'key claimed',
  succeeded: 'key succeeded',
  failed: 'key refused for good',
  unknown: 'outcome unknown',
  abandoned: 'key given up',
};

function countedAs(from: KeyStateOrAbsent, to: KeyStateOrAbsent): Counted | undefined {
  if (to === 'abandoned') return 'abandoned';
  if (from === 'absent') return 'created';
  return to === 'unknown' && from !== 'unknown' ? 'unknown' : undefined;
}
