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
  const isNew = from !== to;
  const { msg, level = 'info', counted = from === 'absent' ? 'created' : undefined } = ENTRIES[to];
  if (isNew && counted) countKey(counted, id.operation);
  config.log?.({
    level: isNew ? level : 'info',
    msg: isNew ? msg : 'key taken up again',
    operation: id.operation,
    key: id.key,
    fingerprint: fingerprintPrefix(fingerprint),
    attempt,
    from_state: from,
    to_state: to,
  });
}

/** How the log and the counters see that a state is entered. A key that is taken up again enters the one it had. */
const ENTRIES: Record<KeyStateOrAbsent, { msg: LogEntry['msg']; level?: LogEntry['level']; counted?: Counted }> = {
  absent: { msg: 'key gone' },
  in_progress: { msg: 'key claimed' },
  succeeded: { msg: 'key succeeded' },
  failed: { msg: 'key refused for good' },
  unknown: { msg: 'outcome unknown', level: 'warn', counted: 'unknown' },
  abandoned: { msg: 'key given up', counted: 'abandoned' },
};
