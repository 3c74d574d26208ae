-- oncekit schema 1: keys, their steps, events and tallies. Written into your migrations by `npx oncekit init`.
-- The models are in idempotency.prisma; what stands here and not there, Prisma's models cannot say.

CREATE TABLE "idempotency_keys" (
    -- Compared as bytes: as fast as can be, and the order of a unique index that arbitrates must not change with an
    -- upgrade of the system's locales, which would let a key in twice.
    "tenant" VARCHAR(255) COLLATE "C" NOT NULL,
    "principal" VARCHAR(255) COLLATE "C" NOT NULL,
    "operation" VARCHAR(100) COLLATE "C" NOT NULL,
    "key" VARCHAR(255) COLLATE "C" NOT NULL,
    "state" VARCHAR(20) NOT NULL,
    "fencing_token" INTEGER NOT NULL DEFAULT 1,
    "attempts" INTEGER NOT NULL DEFAULT 1,
    "fingerprint" BYTEA,
    "fingerprint_version" SMALLINT,
    "secret_id" VARCHAR(16),
    "result" TEXT,
    "schema_version" INTEGER NOT NULL DEFAULT 1,
    "minted_at" TIMESTAMPTZ(3),
    "claimed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "settled_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "lease_until" TIMESTAMPTZ(3),
    "next_attempt_at" TIMESTAMPTZ(3),
    "recovery_point" VARCHAR(100),
    "input" BYTEA,
    "needs_attention" BOOLEAN NOT NULL DEFAULT false,
    "trace_parent" TEXT,

    -- The key first: keys of one time stand together, so that a claim writes where the one before it has written.
    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("key", "operation", "principal", "tenant"),
    CONSTRAINT "idempotency_keys_state_check"
        CHECK ("state" = ANY ('{in_progress,succeeded,failed,unknown,abandoned}')),
    CONSTRAINT "idempotency_keys_settled_check"
        CHECK (("settled_at" IS NULL) = ("state" = ANY ('{in_progress,unknown}'))),
    CONSTRAINT "idempotency_keys_tombstone_check" CHECK ("state" <> 'abandoned' OR "result" IS NULL),
    -- Input is kept for as long as it may be needed, and nobody is to look at a key that has settled.
    CONSTRAINT "idempotency_keys_unfinished_check"
        CHECK ("settled_at" IS NULL OR (COALESCE("lease_until", "next_attempt_at") IS NULL AND "input" IS NULL))
);

CREATE TABLE "idempotency_phases" (
    "tenant" VARCHAR(255) COLLATE "C" NOT NULL,
    "principal" VARCHAR(255) COLLATE "C" NOT NULL,
    "operation" VARCHAR(100) COLLATE "C" NOT NULL,
    "key" VARCHAR(255) COLLATE "C" NOT NULL,
    "name" VARCHAR(100) NOT NULL,
    "position" INTEGER NOT NULL,
    "kind" VARCHAR(10) NOT NULL,
    "state" VARCHAR(10) NOT NULL,
    "result" TEXT,
    "arguments" BYTEA,
    "derived_key" VARCHAR(64),
    "fencing_token" INTEGER NOT NULL,
    "sends" INTEGER NOT NULL DEFAULT 0,
    "first_sent_at" TIMESTAMPTZ(3),
    "last_sent_at" TIMESTAMPTZ(3),
    "keys_until" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),
    "verdict" VARCHAR(10),
    "reference" VARCHAR(255),

    CONSTRAINT "idempotency_phases_pkey" PRIMARY KEY ("tenant", "principal", "operation", "key", "name"),
    CONSTRAINT "idempotency_phases_kind_check" CHECK ("kind" IN ('atomic', 'foreign', 'capture')),
    -- Only a foreign call can have been begun without being done: the others are written when they are finished.
    CONSTRAINT "idempotency_phases_state_check"
        CHECK ("state" = 'done' OR ("state" = 'started' AND "kind" = 'foreign')),
    CONSTRAINT "idempotency_phases_result_check" CHECK ("result" IS NULL OR octet_length("result") <= 262144),
    CONSTRAINT "idempotency_phases_verdict_check" CHECK ("verdict" IN ('succeeded', 'failed', 'retry'))
);

CREATE TABLE "idempotency_events" (
    "id" BIGSERIAL NOT NULL,
    "tenant" VARCHAR(255) COLLATE "C" NOT NULL,
    "principal" VARCHAR(255) COLLATE "C" NOT NULL,
    "operation" VARCHAR(100) COLLATE "C" NOT NULL,
    "key" VARCHAR(255) COLLATE "C" NOT NULL,
    "type" VARCHAR(40) NOT NULL,
    "actor" VARCHAR(255) NOT NULL,
    "detail" JSONB,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_events_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "idempotency_tallies" (
    "bucket" TIMESTAMPTZ(3) NOT NULL,
    "operation" VARCHAR(100) NOT NULL,
    "outcome" VARCHAR(20) NOT NULL,
    "count" BIGINT NOT NULL,

    CONSTRAINT "idempotency_tallies_pkey" PRIMARY KEY ("bucket", "operation", "outcome")
);

CREATE INDEX "idempotency_keys_expires_at_idx" ON "idempotency_keys"("expires_at");

-- Ascending: times that grow fill its last page, where a descending one would split its first, and leave both half empty.
CREATE INDEX "idempotency_keys_claimed_at_idx" ON "idempotency_keys"("claimed_at");

-- Every row that is not settled: what the completer looks for, and what waits for a person. On columns that a
-- one-transaction key never sets: such a key pays nothing for it, neither an entry nor the right to a HOT update.
CREATE INDEX "idempotency_keys_next_attempt_at_idx" ON "idempotency_keys"("next_attempt_at")
    WHERE "next_attempt_at" IS NOT NULL OR "needs_attention";

CREATE INDEX "idempotency_events_key_idx" ON "idempotency_events"("tenant", "principal", "operation", "key", "at");

ALTER TABLE "idempotency_phases" ADD CONSTRAINT "idempotency_phases_tenant_principal_operation_key_fkey"
    FOREIGN KEY ("tenant", "principal", "operation", "key")
    REFERENCES "idempotency_keys"("tenant", "principal", "operation", "key") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "idempotency_keys" SET (
    -- No room is reserved for the completion. The claim's dead version is taken off a page when the page fills up, and
    -- its room used again. Of 100 completions 94 and more stay off the indexes all the same (HOT).
    fillfactor = 100,
    -- As many rows go as come: their room must be found again long before a fifth of a large table is dead.
    autovacuum_vacuum_scale_factor = 0.05,
    -- Ten times the default pace: reaping must not run away from it.
    autovacuum_vacuum_cost_limit = 2000
);

-- A few rows are written again and again, by every process: room on their page keeps that off the index (HOT).
ALTER TABLE "idempotency_tallies" SET (fillfactor = 50);

-- By this the kit and `npx oncekit doctor` know what is here.
COMMENT ON TABLE "idempotency_keys" IS 'oncekit schema 1';
