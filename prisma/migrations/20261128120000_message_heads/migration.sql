-- By hand: prisma/kit/0003_messaging.sql, which users get.
--
-- Deliveries are read twice, to build an index of what is under way and one that is empty, and received events once. They are locked
-- until that is done: docs/upgrading.md.

-- Null: no relay has looked at it yet. True: it was the first open one of its aggregate when one did. False: it is put aside, as
-- another open one stands before it.
ALTER TABLE "outbox_deliveries" ADD COLUMN IF NOT EXISTS "is_head" BOOLEAN;

-- What a relay may take, so that none passes over what it may not: what it has not looked at, by aggregate, and heads, by their
-- time. What is put aside is in neither. IF NOT EXISTS: a large table's may have been built before, beside its writers.
CREATE INDEX IF NOT EXISTS "outbox_deliveries_new_idx" ON "outbox_deliveries"("destination", "aggregate", "sequence")
    WHERE "state" = 'pending' AND "is_head" IS NULL;
CREATE INDEX IF NOT EXISTS "outbox_deliveries_due_idx" ON "outbox_deliveries"("destination", "next_attempt_at")
    WHERE "state" = 'pending' AND "is_head";
-- Received events that are run again, each source's for itself: a look passes over no other's. Older kits use the index by time alone.
CREATE INDEX IF NOT EXISTS "inbox_events_due_idx" ON "inbox_events"("source", "next_attempt_at")
    WHERE "next_attempt_at" IS NOT NULL;

-- Whoever settles, moves or deletes a delivery, by whatever statement, takes up what was put aside behind it. A relay puts a row aside
-- while it holds a lock on an open one before it. So who settles that one comes after the mark and finds it: each statement in
-- here sees what was committed before it began, as the function is volatile and the transaction is READ COMMITTED.
--
-- Once for each aggregate of a statement: row by row each look would pass over all that the statement has changed.
CREATE OR REPLACE FUNCTION "oncekit_next_delivery"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    lanes text[];
    lane text[];
    behind record;
    is_done boolean;
BEGIN
    IF TG_OP = 'INSERT' THEN
        -- Written back from a copy, perhaps without what stood before it.
        NEW.is_head := NULL;
        RETURN NEW;
    ELSIF TG_OP = 'UPDATE' THEN
        -- What stays open lets nobody pass, and most updates take or put off. What goes to another destination leaves the one, and
        -- may be the first of the other.
        SELECT array_agg(DISTINCT ARRAY[destination, coalesce(was.aggregate, is_now.aggregate)]) INTO lanes
          FROM was FULL JOIN is_now USING (event_id, destination)
         WHERE was.state IS DISTINCT FROM is_now.state
           AND (is_now.state IS NULL OR is_now.state IN ('delivered', 'skipped') OR is_now.is_head = false);
    ELSE
        SELECT array_agg(DISTINCT ARRAY[was.destination, was.aggregate]) INTO lanes
          FROM was WHERE was.state IN ('pending', 'dead');
    END IF;
    IF lanes IS NULL THEN RETURN NULL; END IF;
    FOREACH lane SLICE 1 IN ARRAY lanes LOOP
        -- Dynamic SQL, as a table may have another name; the less of it, the sooner it is planned.
        FOR behind IN EXECUTE format('SELECT event_id, is_head, xmin = pg_current_xact_id()::xid AS is_own FROM %s
            WHERE destination = $1 AND aggregate = $2 AND state IN (''pending'', ''dead'') ORDER BY sequence',
            TG_RELID::regclass) USING lane[1], lane[2]
        LOOP
            IF behind.is_head = false THEN
                EXECUTE format('UPDATE %s SET is_head = true,
                    next_attempt_at = greatest(next_attempt_at, date_trunc(''milliseconds'', clock_timestamp()))
                    WHERE event_id = $1 AND destination = $2 AND state = ''pending'' AND is_head = false RETURNING true',
                    TG_RELID::regclass) INTO is_done USING behind.event_id, lane[1];
            ELSIF behind.is_own THEN
                is_done := true;
            ELSE
                -- Locked, it is open until this transaction ends, and who settles it finds what is behind it. One that
                -- somebody is settling just now is passed over: at worst a relay puts aside again what is taken up for it.
                EXECUTE format('SELECT true FROM %s WHERE event_id = $1 AND destination = $2
                    AND state IN (''pending'', ''dead'') FOR SHARE SKIP LOCKED', TG_RELID::regclass)
                    INTO is_done USING behind.event_id, lane[1];
            END IF;
            EXIT WHEN is_done;
        END LOOP;
    END LOOP;
    RETURN NULL;
END $$;

ALTER FUNCTION "oncekit_next_delivery"() SET search_path = pg_catalog, pg_temp;

CREATE TRIGGER "outbox_deliveries_settled" AFTER UPDATE ON "outbox_deliveries"
    REFERENCING OLD TABLE AS "was" NEW TABLE AS "is_now" FOR EACH STATEMENT EXECUTE FUNCTION "oncekit_next_delivery"();
CREATE TRIGGER "outbox_deliveries_deleted" AFTER DELETE ON "outbox_deliveries"
    REFERENCING OLD TABLE AS "was" FOR EACH STATEMENT EXECUTE FUNCTION "oncekit_next_delivery"();

CREATE TRIGGER "outbox_deliveries_written_back" BEFORE INSERT ON "outbox_deliveries"
    FOR EACH ROW WHEN (NEW."is_head" = false) EXECUTE FUNCTION "oncekit_next_delivery"();

-- By this the kit and `npx oncekit doctor` know what is here.
COMMENT ON TABLE "outbox_events" IS 'oncekit schema 3';
