-- DropIndex
DROP INDEX "idempotency_keys_claimed_at_idx";

-- DropIndex
DROP INDEX "idempotency_keys_key_idx";

-- CreateIndex
-- Ascending: times that grow fill its last page, where a descending one would split its first, and leave both half empty.
CREATE INDEX "idempotency_keys_claimed_at_idx" ON "idempotency_keys"("claimed_at");


-- From here on by hand: what Prisma's models cannot say, and the primary key, which so is built once.
--
-- No table is rewritten, but their indexes are built anew while nobody else may use them: some 3 s for a million keys.

ALTER TABLE "idempotency_phases" DROP CONSTRAINT "idempotency_phases_tenant_principal_operation_key_fkey";

ALTER TABLE "idempotency_keys"
    DROP CONSTRAINT "idempotency_keys_pkey",
    -- PostgreSQL parses every CHECK again for every statement that writes a row: the twelve there were took two thirds
    -- of its time for a claim and its completion. What the code proves of every row before it writes it is left to the
    -- code (K1, F2, R4, the scope, K5); the states, and what must be true in each, stay.
    DROP CONSTRAINT "idempotency_keys_state_check",
    DROP CONSTRAINT "idempotency_keys_key_check",
    DROP CONSTRAINT "idempotency_keys_scope_check",
    DROP CONSTRAINT "idempotency_keys_fencing_token_check",
    DROP CONSTRAINT "idempotency_keys_fingerprint_check",
    DROP CONSTRAINT "idempotency_keys_settled_check",
    DROP CONSTRAINT "idempotency_keys_result_check",
    DROP CONSTRAINT "idempotency_keys_expires_at_check",
    DROP CONSTRAINT "idempotency_keys_input_check",
    DROP CONSTRAINT "idempotency_keys_lease_check",
    DROP CONSTRAINT "idempotency_keys_next_attempt_check",
    -- Compared as bytes: as fast as can be, and the order of a unique index that arbitrates must not change with an
    -- upgrade of the system's locales, which would let a key in twice (C1).
    ALTER COLUMN "tenant" TYPE VARCHAR(255) COLLATE "C",
    ALTER COLUMN "principal" TYPE VARCHAR(255) COLLATE "C",
    ALTER COLUMN "operation" TYPE VARCHAR(100) COLLATE "C",
    ALTER COLUMN "key" TYPE VARCHAR(255) COLLATE "C",
    ADD CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("key", "operation", "principal", "tenant"),
    -- An array constant is one node to parse, a list of values one each.
    ADD CONSTRAINT "idempotency_keys_state_check"
        CHECK ("state" = ANY ('{in_progress,succeeded,failed,unknown,abandoned}')),
    ADD CONSTRAINT "idempotency_keys_settled_check"
        CHECK (("settled_at" IS NULL) = ("state" = ANY ('{in_progress,unknown}'))),
    -- Input is kept for as long as it may be needed, and nobody is to look at a key that has settled.
    ADD CONSTRAINT "idempotency_keys_unfinished_check"
        CHECK ("settled_at" IS NULL OR (COALESCE("lease_until", "next_attempt_at") IS NULL AND "input" IS NULL));

-- Compared with the keys' columns, and found by them through their own indexes: of one collation.
ALTER TABLE "idempotency_phases"
    ALTER COLUMN "tenant" TYPE VARCHAR(255) COLLATE "C",
    ALTER COLUMN "principal" TYPE VARCHAR(255) COLLATE "C",
    ALTER COLUMN "operation" TYPE VARCHAR(100) COLLATE "C",
    ALTER COLUMN "key" TYPE VARCHAR(255) COLLATE "C",
    ADD CONSTRAINT "idempotency_phases_tenant_principal_operation_key_fkey"
        FOREIGN KEY ("tenant", "principal", "operation", "key")
        REFERENCES "idempotency_keys"("tenant", "principal", "operation", "key") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "idempotency_events"
    ALTER COLUMN "tenant" TYPE VARCHAR(255) COLLATE "C",
    ALTER COLUMN "principal" TYPE VARCHAR(255) COLLATE "C",
    ALTER COLUMN "operation" TYPE VARCHAR(100) COLLATE "C",
    ALTER COLUMN "key" TYPE VARCHAR(255) COLLATE "C";

ALTER TABLE "idempotency_keys" SET (
    -- No room is reserved for the completion. The claim's dead version is taken off a page when the page fills up, and
    -- its room used again; with the tenth reserved that we had, inserts went on to the next page just before that point,
    -- and the table grew to twice its size. Of 100 completions 94 and more stay off the indexes all the same (HOT).
    fillfactor = 100,
    -- As many rows go as come: their room must be found again long before a fifth of a large table is dead.
    autovacuum_vacuum_scale_factor = 0.05,
    -- Ten times the default pace: reaping must not run away from it.
    autovacuum_vacuum_cost_limit = 2000
);
