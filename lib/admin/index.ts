export type { Verdict } from '../store/leases.ts';
export {
  type Admin,
  type AdminOptions,
  createAdmin,
  type KeyDetail,
  type KeyEvent,
  type KeyFilter,
  type KeyPage,
  type KeySummary,
} from './admin.ts';
export {
  createMessagesAdmin,
  type DeliveryFilter,
  type DeliveryRow,
  type FoundDelivery,
  type GivenUp,
  type InboxAdmin,
  type InboxFilter,
  type MessagePage,
  type MessageRecord,
  type MessagesAdminOptions,
  type Open,
  type OutboxAdmin,
  type ReceivedDetail,
  type ReceivedSummary,
  type SentDetail,
  type Stop,
} from './messages.ts';
export type { Operated, SeenKey } from './operate.ts';
export type { PhaseView } from './phase-view.ts';
export type { RedactedAnswer, Shape } from './redact.ts';
