export {
  type DeliveryFilter,
  type DeliveryRow,
  type DeliveryState,
  type FoundDelivery,
  type FoundEvent,
  type FoundReceived,
  type InboxFilter,
  type InboxRow,
  type InboxState,
  type MessageRecord,
  type Open,
  RELAY_TASK,
  type Stop,
} from '../store/messages.ts';
export { type AllowAddress, isPublicAddress } from './allowed-fetch.ts';
export { type Attempt, type Destination, type OutgoingEvent, PublishError, type Publisher } from './destination.ts';
export { EventError, type EventToSend, type Origin } from './event.ts';
export type { Inbox, Retried } from './inbox.ts';
export type { GivenUp } from './outbox.ts';
export {
  createInbox,
  createOutbox,
  type InboxOptions,
  type Outbox,
  type OutboxOptions,
  type OutboxTransaction,
} from './prisma.ts';
export type {
  Effect,
  InboxPoint,
  Received,
  ReceivedEvent,
  SourceOptions,
} from './reception.ts';
export type { Relayed, RelayOptions, RelayPoint } from './relay.ts';
export type { EventName, OnReport, Report } from './report.ts';
export {
  SignatureError,
  type SignedHeaders,
  signWebhook,
  verifyWebhook,
  type WebhookOptions,
  webhook,
} from './webhook.ts';
