import type { KeyState } from 'oncekit';
import { Badge, type Tone } from '../../ui/badge.tsx';

const tones: Record<KeyState, Tone> = {
  in_progress: 'info',
  succeeded: 'good',
  failed: 'bad',
  unknown: 'warn',
  abandoned: 'muted',
};

/** The states in the order in which a person should look at them. */
export const states = ['unknown', 'in_progress', 'failed', 'succeeded', 'abandoned'] as const satisfies KeyState[];

export function StateBadge({ state }: { state: KeyState }) {
  return <Badge tone={tones[state]}>{stateName(state)}</Badge>;
}

export function stateName(state: KeyState): string {
  return state.replace('_', ' ');
}
