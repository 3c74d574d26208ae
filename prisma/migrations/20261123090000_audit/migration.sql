-- By hand: prisma/kit/0002_keys.sql, which users get.

-- What people did, apart from the keys: a record outlives the key that it is about. So there is no foreign key. The four
-- columns of a key are empty where a record is about none.
CREATE TABLE "idempotency_audit" (
    "id" BIGSERIAL NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "actor" VARCHAR(255) NOT NULL,
    "type" VARCHAR(40) NOT NULL,
    "tenant" VARCHAR(255) COLLATE "C" NOT NULL DEFAULT '',
    "principal" VARCHAR(255) COLLATE "C" NOT NULL DEFAULT '',
    "operation" VARCHAR(100) COLLATE "C" NOT NULL DEFAULT '',
    "key" VARCHAR(255) COLLATE "C" NOT NULL DEFAULT '',
    "detail" JSONB,

    CONSTRAINT "idempotency_audit_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "idempotency_audit_key_idx" ON "idempotency_audit"("tenant", "principal", "operation", "key", "at");
CREATE INDEX "idempotency_audit_at_idx" ON "idempotency_audit"("at");

-- Append-only for everybody but the table's owner, who may drop the triggers. A DELETE is let through once a record is
-- 30 days old: the reaper keeps records for longer, a year unless the app says otherwise.
CREATE OR REPLACE FUNCTION "oncekit_append_only"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused: records are never changed, and kept for 30 days at least', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER "idempotency_audit_unchanged" BEFORE UPDATE OR TRUNCATE ON "idempotency_audit"
    FOR EACH STATEMENT EXECUTE FUNCTION "oncekit_append_only"();
CREATE TRIGGER "idempotency_audit_kept" BEFORE DELETE ON "idempotency_audit"
    FOR EACH ROW WHEN (OLD."at" > CURRENT_TIMESTAMP - INTERVAL '30 days') EXECUTE FUNCTION "oncekit_append_only"();

-- What people did so far stood among the events, which go with their key.
WITH "moved" AS (
    DELETE FROM "idempotency_events"
     WHERE "type" IN ('verdict', 'retry', 'released', 'forgotten') OR ("type" = 'fenced' AND "actor" <> 'client')
    RETURNING *)
INSERT INTO "idempotency_audit" ("at", "actor", "type", "tenant", "principal", "operation", "key", "detail")
SELECT "at", "actor", "type", "tenant", "principal", "operation", "key", "detail" FROM "moved" ORDER BY "id";

-- By this the kit and `npx oncekit doctor` know what is here.
COMMENT ON TABLE "idempotency_keys" IS 'oncekit schema 2';
