import { Badge, type Tone } from '../../ui/badge.tsx';

/** The states in the order in which a person should look at them. */
export const messageStates = {
  outbox: ['dead', 'pending', 'delivered', 'skipped'],
  inbox: ['dead', 'failed', 'processed'],
} as const;

export type MessageState = (typeof messageStates)['outbox' | 'inbox'][number];

const looks: Record<MessageState, { tone: Tone; name: string }> = {
  dead: { tone: 'bad', name: 'dead letter' },
  pending: { tone: 'info', name: 'pending' },
  failed: { tone: 'warn', name: 'failed' },
  delivered: { tone: 'good', name: 'delivered' },
  processed: { tone: 'good', name: 'processed' },
  skipped: { tone: 'muted', name: 'skipped' },
};

export function MessageStateBadge({ state }: { state: MessageState }) {
  return <Badge tone={looks[state].tone}>{looks[state].name}</Badge>;
}

export function messageStateName(state: MessageState): string {
  return looks[state].name;
}
