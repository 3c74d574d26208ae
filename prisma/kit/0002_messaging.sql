-- oncekit schema 2 of messaging, from 1. Written into your migrations by `npx oncekit init --messaging`.
--
-- No table is rewritten or read, and no index is built.

-- What people did to messages is append-only for everybody but the table's owner, who may drop the triggers. What machines noted
-- goes with its message, the records of people once they are 30 days old: the reaper keeps them for a year.
CREATE OR REPLACE FUNCTION "oncekit_append_only"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused: records are never changed, and kept for 30 days at least', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

ALTER FUNCTION "oncekit_append_only"() SET search_path = pg_catalog, pg_temp;

CREATE TRIGGER "message_events_unchanged" BEFORE UPDATE OR TRUNCATE ON "message_events"
    FOR EACH STATEMENT EXECUTE FUNCTION "oncekit_append_only"();
CREATE TRIGGER "message_events_kept" BEFORE DELETE ON "message_events"
    FOR EACH ROW WHEN (
        OLD."type" IN ('requeued', 'skipped', 'abandoned', 'resumed') AND OLD."at" > statement_timestamp() - INTERVAL '720 hours'
    ) EXECUTE FUNCTION "oncekit_append_only"();

-- By this the kit and `npx oncekit doctor` know what is here.
COMMENT ON TABLE "outbox_events" IS 'oncekit schema 2';
