-- oncekit schema 4, from 3. Written into your migrations by `npx oncekit init`.
--
-- The table is read once, to build an index that is empty, and locked until that is done: docs/upgrading.md.

-- The thing that a key's operation is done once for: this cart, this invoice. Null of operations that name none.
ALTER TABLE "idempotency_keys" ADD COLUMN IF NOT EXISTS "thing" VARCHAR(255) COLLATE "C";

-- One row for each thing: of two keys, this decides. Without the state, which would end HOT updates of every completion: a
-- key that holds its thing no longer has a null there. IF NOT EXISTS: a large table's may have been built before, beside
-- its writers (docs/upgrading.md).
CREATE UNIQUE INDEX IF NOT EXISTS "idempotency_keys_thing_idx" ON "idempotency_keys"("thing", "operation", "tenant")
    WHERE "thing" IS NOT NULL;

CREATE OR REPLACE FUNCTION "oncekit_key_rules"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (CASE WHEN NEW."settled_at" IS NULL THEN NEW."state" IN ('in_progress', 'unknown')
             ELSE NEW."lease_until" IS NULL AND NEW."next_attempt_at" IS NULL AND NEW."input" IS NULL
                  AND (NEW."state" IN ('succeeded', 'failed') OR (NEW."state" = 'abandoned' AND NEW."result" IS NULL))
        END) THEN
        -- A refusal and a tombstone hold no thing: another key may do it. Here, so that it is free whoever settles the key,
        -- also an executor whose operation no longer says what it is once per.
        IF NEW."thing" IS NOT NULL AND NEW."state" IN ('failed', 'abandoned') THEN NEW."thing" := NULL; END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION USING
        MESSAGE = format('A key that is %s cannot be so: see oncekit_key_rules()', NEW."state"),
        ERRCODE = 'check_violation', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
        CONSTRAINT = TG_TABLE_NAME || CASE
            WHEN NEW."state" = ANY ('{in_progress,succeeded,failed,unknown,abandoned}') IS NOT TRUE THEN '_state_check'
            -- A key is settled exactly where it has a time of settling.
            WHEN (NEW."settled_at" IS NULL) <> (NEW."state" IN ('in_progress', 'unknown')) THEN '_settled_check'
            WHEN NEW."state" = 'abandoned' AND NEW."result" IS NOT NULL THEN '_tombstone_check'
            -- Input is kept for as long as it may be needed, and nobody is to look at a key that has settled.
            ELSE '_unfinished_check' END;
END $$;

-- By this the kit and `npx oncekit doctor` know what is here.
COMMENT ON TABLE "idempotency_keys" IS 'oncekit schema 4';
