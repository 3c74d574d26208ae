-- By hand: prisma/kit/0003_keys.sql, which users get.
--
-- No table is rewritten or read, and no index is built. Each table is locked for a moment, once the transactions that use
-- it have ended: docs/upgrading.md.

-- The rules of keys and steps, which a person at psql could break. PostgreSQL parses each CHECK anew for every statement
-- that writes a row: four made an INSERT 10 µs dearer, a trigger makes it 2, for its function stays compiled. Each asks
-- once, for all rules together, and looks only then which one is broken.
CREATE OR REPLACE FUNCTION "oncekit_key_rules"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (CASE WHEN NEW."settled_at" IS NULL THEN NEW."state" IN ('in_progress', 'unknown')
             ELSE NEW."lease_until" IS NULL AND NEW."next_attempt_at" IS NULL AND NEW."input" IS NULL
                  AND (NEW."state" IN ('succeeded', 'failed') OR (NEW."state" = 'abandoned' AND NEW."result" IS NULL))
        END) THEN
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

CREATE TRIGGER "idempotency_keys_rules" BEFORE INSERT OR UPDATE ON "idempotency_keys"
    FOR EACH ROW EXECUTE FUNCTION "oncekit_key_rules"();

ALTER TABLE "idempotency_keys"
    DROP CONSTRAINT IF EXISTS "idempotency_keys_state_check",
    DROP CONSTRAINT IF EXISTS "idempotency_keys_settled_check",
    DROP CONSTRAINT IF EXISTS "idempotency_keys_tombstone_check",
    DROP CONSTRAINT IF EXISTS "idempotency_keys_unfinished_check";

CREATE OR REPLACE FUNCTION "oncekit_step_rules"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW."kind" IN ('atomic', 'foreign', 'capture')
       AND (NEW."state" = 'done' OR (NEW."state" = 'started' AND NEW."kind" = 'foreign'))
       AND NEW."not_executed" BETWEEN 0 AND NEW."sends"
       AND (NEW."result" IS NULL OR octet_length(NEW."result") <= 262144)
       AND (NEW."verdict" IS NULL OR NEW."verdict" IN ('succeeded', 'failed', 'retry')) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION USING
        MESSAGE = format('A step that is %s (%s) cannot be so: see oncekit_step_rules()', NEW."state", NEW."kind"),
        ERRCODE = 'check_violation', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
        CONSTRAINT = TG_TABLE_NAME || CASE
            WHEN NEW."kind" = ANY ('{atomic,foreign,capture}') IS NOT TRUE THEN '_kind_check'
            -- Only a foreign call can have been begun without being done: the others are written when they are finished.
            WHEN (NEW."state" = 'done' OR (NEW."state" = 'started' AND NEW."kind" = 'foreign')) IS NOT TRUE
                THEN '_state_check'
            WHEN (NEW."not_executed" BETWEEN 0 AND NEW."sends") IS NOT TRUE THEN '_not_executed_check'
            WHEN octet_length(NEW."result") > 262144 THEN '_result_check'
            ELSE '_verdict_check' END;
END $$;

CREATE TRIGGER "idempotency_phases_rules" BEFORE INSERT OR UPDATE ON "idempotency_phases"
    FOR EACH ROW EXECUTE FUNCTION "oncekit_step_rules"();

ALTER TABLE "idempotency_phases"
    DROP CONSTRAINT IF EXISTS "idempotency_phases_kind_check",
    DROP CONSTRAINT IF EXISTS "idempotency_phases_state_check",
    DROP CONSTRAINT IF EXISTS "idempotency_phases_not_executed_check",
    DROP CONSTRAINT IF EXISTS "idempotency_phases_result_check",
    DROP CONSTRAINT IF EXISTS "idempotency_phases_verdict_check";

-- Steps go with their key, whoever deletes it: a key that comes again must not find what an earlier one has done. Every
-- step is written by a statement that updates its key's row, so none is added to a key that goes. A foreign key would
-- look that up again for each step, and look for steps once for each key that the reaper deletes.
CREATE OR REPLACE FUNCTION "oncekit_delete_steps"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        -- Not TRUNCATE, which is refused where one statement truncates both tables.
        EXECUTE format('DELETE FROM %I.%I', TG_TABLE_SCHEMA, TG_ARGV[0]);
    ELSE
        EXECUTE format('DELETE FROM %I.%I AS step USING deleted WHERE step.tenant = deleted.tenant
            AND step.principal = deleted.principal AND step.operation = deleted.operation AND step.key = deleted.key',
            TG_TABLE_SCHEMA, TG_ARGV[0]);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER "idempotency_keys_deleted" AFTER DELETE ON "idempotency_keys" REFERENCING OLD TABLE AS "deleted"
    FOR EACH STATEMENT EXECUTE FUNCTION "oncekit_delete_steps"('idempotency_phases');
CREATE TRIGGER "idempotency_keys_truncated" AFTER TRUNCATE ON "idempotency_keys"
    FOR EACH STATEMENT EXECUTE FUNCTION "oncekit_delete_steps"('idempotency_phases');

ALTER TABLE "idempotency_phases"
    DROP CONSTRAINT IF EXISTS "idempotency_phases_tenant_principal_operation_key_fkey";

-- By this the kit and `npx oncekit doctor` know what is here.
COMMENT ON TABLE "idempotency_keys" IS 'oncekit schema 3';
