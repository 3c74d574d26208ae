-- AlterTable
ALTER TABLE "idempotency_phases" ADD COLUMN     "keys_until" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "idempotency_tallies" (
    "bucket" TIMESTAMPTZ(3) NOT NULL,
    "operation" VARCHAR(100) NOT NULL,
    "outcome" VARCHAR(20) NOT NULL,
    "count" BIGINT NOT NULL,

    CONSTRAINT "idempotency_tallies_pkey" PRIMARY KEY ("bucket","operation","outcome")
);


-- From here on by hand: what Prisma's models cannot say.

-- Now it holds every row that is not settled: also those that the completer has given up on, which wait for a person. So
-- an admin's list of them needs no other. On columns that a one-transaction key never sets: such a key pays nothing for
-- it, neither an entry nor the right to a HOT update.
DROP INDEX "idempotency_keys_next_attempt_at_idx";
CREATE INDEX "idempotency_keys_next_attempt_at_idx" ON "idempotency_keys"("next_attempt_at")
    WHERE "next_attempt_at" IS NOT NULL OR "needs_attention";

-- A few rows are written again and again, by every process: room on their page keeps that off the index (HOT).
ALTER TABLE "idempotency_tallies" SET (fillfactor = 50);
