-- oncekit schema 1: the outbox and the inbox. Written into your migrations by `npx oncekit init --messaging`.
-- The models are in messaging.prisma; what stands here and not there, Prisma's models cannot say.

CREATE TABLE "outbox_aggregates" (
    "aggregate" VARCHAR(255) NOT NULL,
    "last_sequence" BIGINT NOT NULL,

    CONSTRAINT "outbox_aggregates_pkey" PRIMARY KEY ("aggregate"),
    CONSTRAINT "outbox_aggregates_aggregate_check" CHECK ("aggregate" <> ''),
    CONSTRAINT "outbox_aggregates_last_sequence_check" CHECK ("last_sequence" >= 1)
);

CREATE TABLE "outbox_events" (
    "id" UUID NOT NULL,
    "aggregate" VARCHAR(255) NOT NULL,
    "sequence" BIGINT NOT NULL,
    "type" VARCHAR(100) NOT NULL,
    "payload" TEXT NOT NULL,
    "headers" JSONB NOT NULL,
    "derived_key" VARCHAR(64) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "outbox_events_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "outbox_events_payload_check" CHECK (octet_length("payload") <= 262144),
    CONSTRAINT "outbox_events_headers_check" CHECK (jsonb_typeof("headers") = 'object')
);

CREATE TABLE "outbox_deliveries" (
    "event_id" UUID NOT NULL,
    "destination" VARCHAR(100) NOT NULL,
    "aggregate" VARCHAR(255) NOT NULL,
    "sequence" BIGINT NOT NULL,
    "state" VARCHAR(10) NOT NULL DEFAULT 'pending',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "fencing_token" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "last_error" VARCHAR(300),
    "settled_at" TIMESTAMPTZ(3),

    CONSTRAINT "outbox_deliveries_pkey" PRIMARY KEY ("event_id", "destination"),
    CONSTRAINT "outbox_deliveries_state_check" CHECK ("state" IN ('pending', 'delivered', 'dead', 'skipped')),
    -- What is under way has a time at which somebody looks at it, and what is settled has none.
    CONSTRAINT "outbox_deliveries_next_attempt_at_check"
        CHECK (("state" = 'pending') = ("next_attempt_at" IS NOT NULL)),
    CONSTRAINT "outbox_deliveries_settled_check" CHECK (("state" = 'pending') = ("settled_at" IS NULL)),
    CONSTRAINT "outbox_deliveries_attempts_check" CHECK ("attempts" >= 0)
);

CREATE TABLE "outbox_stops" (
    "destination" VARCHAR(100) NOT NULL,
    "reason" VARCHAR(300) NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "outbox_stops_pkey" PRIMARY KEY ("destination")
);

CREATE TABLE "inbox_events" (
    "source" VARCHAR(100) NOT NULL,
    "event_id" VARCHAR(255) NOT NULL,
    "state" VARCHAR(10) NOT NULL,
    "payload_hash" BYTEA NOT NULL,
    "payload" TEXT,
    "result" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 1,
    "mismatches" INTEGER NOT NULL DEFAULT 0,
    "last_error" VARCHAR(300),
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "processed_at" TIMESTAMPTZ(3),
    "next_attempt_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "inbox_events_pkey" PRIMARY KEY ("source", "event_id"),
    CONSTRAINT "inbox_events_state_check" CHECK ("state" IN ('processed', 'failed', 'dead')),
    CONSTRAINT "inbox_events_id_check" CHECK ("source" <> '' AND "event_id" <> ''),
    CONSTRAINT "inbox_events_payload_hash_check" CHECK (octet_length("payload_hash") = 32),
    CONSTRAINT "inbox_events_payload_check" CHECK (octet_length("payload") <= 262144),
    CONSTRAINT "inbox_events_result_check" CHECK (octet_length("result") <= 262144),
    -- A payload is kept for as long as it may be needed, and no longer.
    CONSTRAINT "inbox_events_processed_check" CHECK (
        "state" <> 'processed'
        OR ("processed_at" IS NOT NULL AND "expires_at" IS NOT NULL AND "payload" IS NULL AND "next_attempt_at" IS NULL)
    ),
    CONSTRAINT "inbox_events_failed_check" CHECK ("state" <> 'failed' OR "next_attempt_at" IS NOT NULL),
    CONSTRAINT "inbox_events_dead_check" CHECK ("state" <> 'dead' OR "next_attempt_at" IS NULL)
);

CREATE TABLE "message_events" (
    "id" BIGSERIAL NOT NULL,
    "box" VARCHAR(10) NOT NULL,
    "event_id" VARCHAR(255),
    "peer" VARCHAR(100) NOT NULL,
    "type" VARCHAR(40) NOT NULL,
    "actor" VARCHAR(255) NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "message_events_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "message_events_box_check" CHECK ("box" IN ('outbox', 'inbox'))
);

CREATE UNIQUE INDEX "outbox_events_derived_key_key" ON "outbox_events"("derived_key");
CREATE INDEX "outbox_events_created_at_idx" ON "outbox_events"("created_at");
CREATE UNIQUE INDEX "outbox_events_aggregate_sequence_key" ON "outbox_events"("aggregate", "sequence");
CREATE INDEX "message_events_box_event_id_at_idx" ON "message_events"("box", "event_id", "at");

-- What stands in the way of later events, in the order in which it goes out: the relay jumps in it from one aggregate's
-- first row to the next one's. Partial, so it holds what is under way and the dead letters, not the history.
CREATE INDEX "outbox_deliveries_open_idx" ON "outbox_deliveries"("destination", "aggregate", "sequence")
    WHERE "state" IN ('pending', 'dead');

-- For the reaper, and for whoever runs failed events again. What is processed at once enters the first alone.
CREATE INDEX "inbox_events_expires_at_idx" ON "inbox_events"("expires_at") WHERE "expires_at" IS NOT NULL;
CREATE INDEX "inbox_events_next_attempt_at_idx" ON "inbox_events"("next_attempt_at")
    WHERE "next_attempt_at" IS NOT NULL;

-- What a person looks for. Most rows are processed at once and never enter it.
CREATE INDEX "inbox_events_open_idx" ON "inbox_events"("source", "received_at") WHERE "state" IN ('failed', 'dead');

ALTER TABLE "outbox_deliveries" ADD CONSTRAINT "outbox_deliveries_event_id_fkey"
    FOREIGN KEY ("event_id") REFERENCES "outbox_events"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Each row is numbered once per event: room on the page keeps that update off the index.
ALTER TABLE "outbox_aggregates" SET (fillfactor = 80);
-- Inserted, taken, settled: three versions of a small row.
ALTER TABLE "outbox_deliveries" SET (fillfactor = 80);

-- By this the kit and `npx oncekit doctor` know what is here.
COMMENT ON TABLE "outbox_events" IS 'oncekit schema 1';
