-- oncekit schema 5, from 4. Written into your migrations by `npx oncekit init`.
--
-- No table is rewritten or read, and no index is built.

-- The rules of keys, and since this version which state may follow which, whoever writes: a settled key is never open again. What
-- is done to a settled key leaves its state: its answer is erased, or made again by an operation that is naturally idempotent,
-- and a person takes its flag off. A lost key is an INSERT.
CREATE OR REPLACE FUNCTION "oncekit_key_rules"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (CASE WHEN NEW."settled_at" IS NULL THEN NEW."state" IN ('in_progress', 'unknown')
             ELSE NEW."lease_until" IS NULL AND NEW."next_attempt_at" IS NULL AND NEW."input" IS NULL
                  AND (NEW."state" IN ('succeeded', 'failed') OR (NEW."state" = 'abandoned' AND NEW."result" IS NULL))
        END)
       AND (TG_OP = 'INSERT' OR NEW."state" = OLD."state" OR CASE OLD."state"
                WHEN 'in_progress' THEN NEW."state" IN ('succeeded', 'failed', 'unknown')
                WHEN 'unknown' THEN NEW."state" IN ('in_progress', 'failed')
                ELSE false END) THEN
        -- A refusal and a tombstone hold no thing: another key may do it. Here, so that it is free whoever settles the key,
        -- also an executor whose operation no longer says what it is once per.
        IF NEW."thing" IS NOT NULL AND NEW."state" IN ('failed', 'abandoned') THEN NEW."thing" := NULL; END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION USING
        MESSAGE = format('A key that is %s cannot be so%s: see oncekit_key_rules()', NEW."state",
                         CASE TG_OP WHEN 'UPDATE' THEN ', from ' || OLD."state" END),
        ERRCODE = 'check_violation', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
        CONSTRAINT = TG_TABLE_NAME || CASE
            WHEN NEW."state" = ANY ('{in_progress,succeeded,failed,unknown,abandoned}') IS NOT TRUE THEN '_state_check'
            -- A key is settled exactly where it has a time of settling.
            WHEN (NEW."settled_at" IS NULL) <> (NEW."state" IN ('in_progress', 'unknown')) THEN '_settled_check'
            WHEN NEW."state" = 'abandoned' AND NEW."result" IS NOT NULL THEN '_tombstone_check'
            -- Input is kept for as long as it may be needed, and nobody is to look at a key that has settled.
            WHEN NEW."settled_at" IS NOT NULL
                 AND (COALESCE(NEW."lease_until", NEW."next_attempt_at") IS NOT NULL OR NEW."input" IS NOT NULL)
                THEN '_unfinished_check'
            ELSE '_transition_check' END;
END $$;

-- Names in them are PostgreSQL's own, whatever somebody who may create in a schema of the session's path has made there: the
-- functions run as the app.
ALTER FUNCTION "oncekit_key_rules"() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "oncekit_step_rules"() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "oncekit_delete_steps"() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "oncekit_append_only"() SET search_path = pg_catalog, pg_temp;

-- 30 days in hours, as the reaper counts them: where a clock has left summer time, 30 days are 721 of them.
CREATE OR REPLACE TRIGGER "idempotency_audit_kept" BEFORE DELETE ON "idempotency_audit"
    FOR EACH ROW WHEN (OLD."at" > statement_timestamp() - INTERVAL '720 hours') EXECUTE FUNCTION "oncekit_append_only"();

-- By this the kit and `npx oncekit doctor` know what is here.
COMMENT ON TABLE "idempotency_keys" IS 'oncekit schema 5';
