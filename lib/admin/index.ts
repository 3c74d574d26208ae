export { TALLIED, type Tallied } from '../core/codes.ts';
export type { SeenCall, Verdict } from '../store/evidence.ts';
export type { AuditFilter, AuditPage, AuditRecord, Erased, NewAuditRecord, Person } from '../store/oversight.ts';
export {
  type Admin,
  type AdminOptions,
  type AnnouncedEvent,
  createAdmin,
  joinTransaction,
  type KeyDetail,
  type KeyEvent,
  type KeyFilter,
  type KeyPage,
  type KeySummary,
  type OutcomeBucket,
  type Overview,
  type UnlistedOperation,
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
} from './messages-admin.ts';
export type { AuditLog, AuditLogEntry, OnErase, Operated, OwnErased, SeenKey } from './operations.ts';
export type { DatabasePromise } from './promises.ts';
export type { PhaseView, RedactedAnswer, Shape } from './redaction.ts';
