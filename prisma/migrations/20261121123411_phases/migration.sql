-- AlterTable
ALTER TABLE "idempotency_keys" ADD COLUMN     "input" BYTEA,
ADD COLUMN     "lease_until" TIMESTAMPTZ(3),
ADD COLUMN     "next_attempt_at" TIMESTAMPTZ(3),
ADD COLUMN     "recovery_point" VARCHAR(100);

-- CreateTable
CREATE TABLE "idempotency_phases" (
    "tenant" VARCHAR(255) NOT NULL,
    "principal" VARCHAR(255) NOT NULL,
    "operation" VARCHAR(100) NOT NULL,
    "key" VARCHAR(255) NOT NULL,
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
    "finished_at" TIMESTAMPTZ(3),
    "verdict" VARCHAR(10),
    "reference" VARCHAR(255),

    CONSTRAINT "idempotency_phases_pkey" PRIMARY KEY ("tenant","principal","operation","key","name")
);

-- AddForeignKey
ALTER TABLE "idempotency_phases" ADD CONSTRAINT "idempotency_phases_tenant_principal_operation_key_fkey" FOREIGN KEY ("tenant", "principal", "operation", "key") REFERENCES "idempotency_keys"("tenant", "principal", "operation", "key") ON DELETE CASCADE ON UPDATE CASCADE;


-- From here on by hand: what Prisma's models cannot say.

ALTER TABLE "idempotency_keys"
    -- Input is kept for as long as it may be needed, and no longer.
    ADD CONSTRAINT "idempotency_keys_input_check" CHECK ("input" IS NULL OR "state" IN ('in_progress', 'unknown')),
    ADD CONSTRAINT "idempotency_keys_lease_check" CHECK ("lease_until" IS NULL OR "state" = 'in_progress'),
    ADD CONSTRAINT "idempotency_keys_next_attempt_check"
        CHECK ("next_attempt_at" IS NULL OR "state" IN ('in_progress', 'unknown'));

-- What the completer looks for. Partial, on a column that a one-transaction key never sets: such a key pays nothing
-- for it, neither an entry nor the right to a HOT update.
CREATE INDEX "idempotency_keys_next_attempt_at_idx" ON "idempotency_keys"("next_attempt_at")
    WHERE "next_attempt_at" IS NOT NULL;

ALTER TABLE "idempotency_phases"
    ADD CONSTRAINT "idempotency_phases_kind_check" CHECK ("kind" IN ('atomic', 'foreign', 'capture')),
    -- Only a foreign call can have been begun without being done: the others are written when they are finished.
    ADD CONSTRAINT "idempotency_phases_state_check"
        CHECK ("state" = 'done' OR ("state" = 'started' AND "kind" = 'foreign')),
    ADD CONSTRAINT "idempotency_phases_result_check" CHECK ("result" IS NULL OR octet_length("result") <= 262144),
    ADD CONSTRAINT "idempotency_phases_verdict_check" CHECK ("verdict" IN ('succeeded', 'failed', 'retry'));
