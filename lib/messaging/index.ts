export type {
  DeliveryFilter,
  DeliveryRow,
  DeliveryState,
  FoundDelivery,
  FoundEvent,
  FoundReceived,
  InboxFilter,
  InboxRow,
  InboxState,
  MessageRecord,
  Open,
  Stop,
} from '../store/messages.ts';
export { RELAY_TASK } from '../store/prisma/messages/outbox.ts';
export type { AllowAddress } from './allowed-fetch.ts';
export type { Destination } from './destination.ts';
export { EventError, type EventToSend, type Origin } from './event.ts';
export {
  createInbox,
  type Effect,
  type Inbox,
  type InboxOptions,
  type InboxPoint,
  type Received,
  type ReceivedEvent,
  type Retried,
  type SourceOptions,
} from './inbox.ts';
export {
  type JetStreamLike,
  type NatsConnectionLike,
  type NatsConnectionSettings,
  type NatsHeadersLike,
  type NatsStreamOptions,
  natsStream,
} from './nats.ts';
export { type StreamedEvent, streamedEvent } from './nats-message.ts';
export { createOutbox, type GivenUp, type Outbox, type OutboxOptions, type OutboxTransaction } from './outbox.ts';
export { isPublicAddress } from './public-address.ts';
export { type Attempt, type OutgoingEvent, PublishError, type Publisher } from './publisher.ts';
export type { Relayed, RelayOptions, RelayPoint } from './relay.ts';
export type { EventName, OnReport, Report } from './report.ts';
export { SignatureError, type SignedHeaders, signWebhook, verifyWebhook } from './signature.ts';
export { type WebhookOptions, webhook } from './webhook.ts';
