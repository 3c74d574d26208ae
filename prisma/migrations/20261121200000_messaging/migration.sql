-- CreateTable
CREATE TABLE "outbox_aggregates" (
    "aggregate" VARCHAR(255) NOT NULL,
    "last_sequence" BIGINT NOT NULL,

    CONSTRAINT "outbox_aggregates_pkey" PRIMARY KEY ("aggregate")
);

-- CreateTable
CREATE TABLE "outbox_events" (
    "id" UUID NOT NULL,
    "aggregate" VARCHAR(255) NOT NULL,
    "sequence" BIGINT NOT NULL,
    "type" VARCHAR(100) NOT NULL,
    "payload" TEXT NOT NULL,
    "headers" JSONB NOT NULL,
    "derived_key" VARCHAR(64) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "outbox_events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
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

    CONSTRAINT "outbox_deliveries_pkey" PRIMARY KEY ("event_id","destination")
);

-- CreateTable
CREATE TABLE "outbox_stops" (
    "destination" VARCHAR(100) NOT NULL,
    "reason" VARCHAR(300) NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "outbox_stops_pkey" PRIMARY KEY ("destination")
);

-- CreateTable
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

    CONSTRAINT "inbox_events_pkey" PRIMARY KEY ("source","event_id")
);

-- CreateTable
CREATE TABLE "message_events" (
    "id" BIGSERIAL NOT NULL,
    "box" VARCHAR(10) NOT NULL,
    "event_id" VARCHAR(255),
    "peer" VARCHAR(100) NOT NULL,
    "type" VARCHAR(40) NOT NULL,
    "actor" VARCHAR(255) NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "message_events_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "outbox_events_derived_key_key" ON "outbox_events"("derived_key");

-- CreateIndex
CREATE INDEX "outbox_events_created_at_idx" ON "outbox_events"("created_at");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_events_aggregate_sequence_key" ON "outbox_events"("aggregate", "sequence");

-- CreateIndex
CREATE INDEX "message_events_box_event_id_at_idx" ON "message_events"("box", "event_id", "at");

-- AddForeignKey
ALTER TABLE "outbox_deliveries" ADD CONSTRAINT "outbox_deliveries_event_id_fkey" FOREIGN KEY ("event_id") REFERENCES "outbox_events"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- From here on by hand: what Prisma's models cannot say.

ALTER TABLE "outbox_aggregates"
    ADD CONSTRAINT "outbox_aggregates_aggregate_check" CHECK ("aggregate" <> ''),
    ADD CONSTRAINT "outbox_aggregates_last_sequence_check" CHECK ("last_sequence" >= 1);

ALTER TABLE "outbox_events"
    ADD CONSTRAINT "outbox_events_payload_check" CHECK (octet_length("payload") <= 262144),
    ADD CONSTRAINT "outbox_events_headers_check" CHECK (jsonb_typeof("headers") = 'object');

ALTER TABLE "outbox_deliveries"
    ADD CONSTRAINT "outbox_deliveries_state_check" CHECK ("state" IN ('pending', 'delivered', 'dead', 'skipped')),
    -- What is under way has a time at which somebody looks at it, and what is settled has none.
    ADD CONSTRAINT "outbox_deliveries_next_attempt_at_check" CHECK (("state" = 'pending') = ("next_attempt_at" IS NOT NULL)),
    ADD CONSTRAINT "outbox_deliveries_settled_check" CHECK (("state" = 'pending') = ("settled_at" IS NULL)),
    ADD CONSTRAINT "outbox_deliveries_attempts_check" CHECK ("attempts" >= 0);

-- What stands in the way of later events, in the order in which it goes out: the relay jumps in it from one aggregate's
-- first row to the next one's. Partial, so it holds what is under way and the dead letters, not the history.
CREATE INDEX "outbox_deliveries_open_idx" ON "outbox_deliveries"("destination", "aggregate", "sequence")
    WHERE "state" IN ('pending', 'dead');

-- Each row is numbered once per event: room on the page keeps that update off the index.
ALTER TABLE "outbox_aggregates" SET (fillfactor = 80);
-- Inserted, taken, settled: three versions of a small row.
ALTER TABLE "outbox_deliveries" SET (fillfactor = 80);

ALTER TABLE "inbox_events"
    ADD CONSTRAINT "inbox_events_state_check" CHECK ("state" IN ('processed', 'failed', 'dead')),
    ADD CONSTRAINT "inbox_events_id_check" CHECK ("source" <> '' AND "event_id" <> ''),
    ADD CONSTRAINT "inbox_events_payload_hash_check" CHECK (octet_length("payload_hash") = 32),
    ADD CONSTRAINT "inbox_events_payload_check" CHECK (octet_length("payload") <= 262144),
    ADD CONSTRAINT "inbox_events_result_check" CHECK (octet_length("result") <= 262144),
    -- A payload is kept for as long as it may be needed, and no longer.
    ADD CONSTRAINT "inbox_events_processed_check" CHECK (
        "state" <> 'processed'
        OR ("processed_at" IS NOT NULL AND "expires_at" IS NOT NULL AND "payload" IS NULL AND "next_attempt_at" IS NULL)
    ),
    ADD CONSTRAINT "inbox_events_failed_check" CHECK ("state" <> 'failed' OR "next_attempt_at" IS NOT NULL),
    ADD CONSTRAINT "inbox_events_dead_check" CHECK ("state" <> 'dead' OR "next_attempt_at" IS NULL);

-- For the reaper, and for whoever runs failed events again. What is processed at once enters the first alone.
CREATE INDEX "inbox_events_expires_at_idx" ON "inbox_events"("expires_at") WHERE "expires_at" IS NOT NULL;
CREATE INDEX "inbox_events_next_attempt_at_idx" ON "inbox_events"("next_attempt_at") WHERE "next_attempt_at" IS NOT NULL;

-- What a person looks for. Most rows are processed at once and never enter it.
CREATE INDEX "inbox_events_open_idx" ON "inbox_events"("source", "received_at") WHERE "state" IN ('failed', 'dead');

ALTER TABLE "message_events" ADD CONSTRAINT "message_events_box_check" CHECK ("box" IN ('outbox', 'inbox'));
