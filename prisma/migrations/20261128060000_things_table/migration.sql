-- By hand: prisma/kit/0006_keys.sql, which users get.
--
-- Rows that hold a thing are read once and copied, and nothing else is read or rewritten: docs/upgrading.md.

-- What is done once, with the key that does it. A table of its own: a unique index of the keys' must have the column that
-- divides them, where they are in partitions. `is_forever`: it stays when the key is deleted, without key and principal.
CREATE TABLE "idempotency_things" (
    "tenant" VARCHAR(255) COLLATE "C" NOT NULL,
    "operation" VARCHAR(100) COLLATE "C" NOT NULL,
    "thing" VARCHAR(255) COLLATE "C" NOT NULL,
    "principal" VARCHAR(255) COLLATE "C",
    "key" VARCHAR(255) COLLATE "C",
    "is_forever" BOOLEAN NOT NULL DEFAULT false,

    -- One row for each thing: of two keys, this decides.
    CONSTRAINT "idempotency_things_pkey" PRIMARY KEY ("thing", "operation", "tenant")
);

-- The rules of keys, and since this version which refusals free the thing of their key. That is looked at where the key is
-- refused, and never again: an answer that is erased later frees nothing.
CREATE OR REPLACE FUNCTION "oncekit_key_rules"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    answer json;
BEGIN
    IF (CASE WHEN NEW."settled_at" IS NULL THEN NEW."state" IN ('in_progress', 'unknown')
             ELSE NEW."lease_until" IS NULL AND NEW."next_attempt_at" IS NULL AND NEW."input" IS NULL
                  AND (NEW."state" IN ('succeeded', 'failed') OR (NEW."state" = 'abandoned' AND NEW."result" IS NULL))
        END)
       AND (TG_OP = 'INSERT' OR NEW."state" = OLD."state" OR CASE OLD."state"
                WHEN 'in_progress' THEN NEW."state" IN ('succeeded', 'failed', 'unknown')
                WHEN 'unknown' THEN NEW."state" IN ('in_progress', 'failed')
                ELSE false END) THEN
        IF NEW."thing" IS NOT NULL AND NEW."state" IN ('failed', 'abandoned')
           AND (TG_OP = 'INSERT' OR NEW."state" <> OLD."state") THEN
            -- A stored answer is a list. Its first element names the places of the others, and by a negative number what has
            -- none. Escapes are taken out of it: a text may have such as no database can read.
            answer := CASE WHEN NEW."result" LIKE '[{%' THEN replace(NEW."result", chr(92) || 'u', chr(92) || 'n') END;
            -- Free: a tombstone, a refusal of which nothing was done, and one of which nobody knows, on a person's word. Here,
            -- so that it is free whoever settles the key, also an executor whose operation no longer says what it is once per.
            IF (CASE WHEN NEW."state" = 'abandoned' THEN true ELSE CASE answer ->> greatest((answer #>> '{0,executed}')::int, 0)
                    WHEN 'false' THEN true
                    WHEN 'unknown' THEN answer ->> greatest((answer #>> '{0,reason}')::int, 0) = 'marked_failed' END END) THEN
                IF TG_OP = 'UPDATE' THEN
                    EXECUTE format('DELETE FROM %s.%I WHERE thing = $1 AND operation = $2 AND tenant = $3
                        AND principal = $4 AND key = $5', (SELECT relnamespace::regnamespace FROM pg_class
                        WHERE oid = coalesce(pg_partition_root(TG_RELID), TG_RELID)), TG_ARGV[0])
                        USING NEW."thing", NEW."operation", NEW."tenant", NEW."principal", NEW."key";
                END IF;
                NEW."thing" := NULL;
            END IF;
        END IF;
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

CREATE OR REPLACE TRIGGER "idempotency_keys_rules" BEFORE INSERT OR UPDATE ON "idempotency_keys"
    FOR EACH ROW EXECUTE FUNCTION "oncekit_key_rules"('idempotency_things');

-- The kit's own statements write the thing and then its key, and say so by a setting. A kit of version 5 beside it writes the
-- key alone. Where another key holds the thing, or nobody any more, this fails with a unique violation.
CREATE OR REPLACE FUNCTION "oncekit_hold_thing"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO %s.%I AS held (tenant, operation, thing, principal, key)
        SELECT $1.tenant, $1.operation, $1.thing, $1.principal, $1.key WHERE NOT EXISTS (
            SELECT FROM %1$s.%2$I AS held WHERE held.thing = $1.thing AND held.operation = $1.operation
               AND held.tenant = $1.tenant AND held.principal = $1.principal AND held.key = $1.key)',
        (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = coalesce(pg_partition_root(TG_RELID), TG_RELID)),
        TG_ARGV[0]) USING NEW;
    RETURN NULL;
END $$;

CREATE TRIGGER "idempotency_keys_thing" AFTER INSERT ON "idempotency_keys"
    FOR EACH ROW WHEN (NEW."thing" IS NOT NULL AND current_setting('oncekit.thing', true) IS DISTINCT FROM 'held')
    EXECUTE FUNCTION "oncekit_hold_thing"('idempotency_things');

-- A thing goes with its key, whoever deletes that; one that is held forever stays, and says no longer whose it was.
CREATE OR REPLACE FUNCTION "oncekit_release_things"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        -- Not TRUNCATE, which is refused where one statement truncates both tables.
        EXECUTE format('DELETE FROM %I.%I', TG_TABLE_SCHEMA, TG_ARGV[0]);
    ELSIF EXISTS (SELECT FROM deleted WHERE deleted."thing" IS NOT NULL) THEN
        EXECUTE format('UPDATE %I.%I AS held SET principal = NULL, key = NULL FROM deleted WHERE held.is_forever
            AND held.thing = deleted.thing AND held.operation = deleted.operation AND held.tenant = deleted.tenant
            AND held.principal = deleted.principal AND held.key = deleted.key', TG_TABLE_SCHEMA, TG_ARGV[0]);
        EXECUTE format('DELETE FROM %I.%I AS held USING deleted WHERE NOT held.is_forever
            AND held.thing = deleted.thing AND held.operation = deleted.operation AND held.tenant = deleted.tenant
            AND held.principal = deleted.principal AND held.key = deleted.key', TG_TABLE_SCHEMA, TG_ARGV[0]);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER "idempotency_keys_things_deleted" AFTER DELETE ON "idempotency_keys" REFERENCING OLD TABLE AS "deleted"
    FOR EACH STATEMENT EXECUTE FUNCTION "oncekit_release_things"('idempotency_things');
CREATE TRIGGER "idempotency_keys_things_truncated" AFTER TRUNCATE ON "idempotency_keys"
    FOR EACH STATEMENT EXECUTE FUNCTION "oncekit_release_things"('idempotency_things');

ALTER FUNCTION "oncekit_key_rules"() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "oncekit_hold_thing"() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION "oncekit_release_things"() SET search_path = pg_catalog, pg_temp;

-- Who may write keys, or take them away, may do so with what they hold: a refusal and the reaper free it. Who may read keys may
-- read it. The keys' owner is among them, where another role runs this.
DO $$
DECLARE
    given record;
BEGIN
    FOR given IN SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS to_role,
                        bool_or(privilege_type <> 'SELECT') AS writes
                   FROM pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner)))
                  WHERE oid = '"idempotency_keys"'::regclass
                    AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
                    AND grantee <> (SELECT relowner FROM pg_class WHERE oid = '"idempotency_things"'::regclass)
                  GROUP BY grantee
    LOOP
        EXECUTE 'GRANT SELECT' || CASE WHEN given.writes THEN ', INSERT, UPDATE, DELETE' ELSE '' END
             || ' ON "idempotency_things" TO ' || given.to_role;
    END LOOP;
END $$;

-- What keys hold so far. The triggers above keep writers out until the end of this migration.
INSERT INTO "idempotency_things" ("tenant", "operation", "thing", "principal", "key")
SELECT "tenant", "operation", "thing", "principal", "key" FROM "idempotency_keys" WHERE "thing" IS NOT NULL;

-- Instances of version 5 still ask it, and nothing of this version does. Where there can be none, it goes at once; else once
-- they are gone, by hand: docs/upgrading.md.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM "idempotency_keys") THEN DROP INDEX IF EXISTS "idempotency_keys_thing_idx"; END IF;
END $$;

-- By this the kit and `npx oncekit doctor` know what is here.
COMMENT ON TABLE "idempotency_keys" IS 'oncekit schema 6';
