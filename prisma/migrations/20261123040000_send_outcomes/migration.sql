-- What the sends of a foreign call have proven.
ALTER TABLE "idempotency_phases" ADD COLUMN "not_executed" INTEGER NOT NULL DEFAULT 0;

-- By hand: what Prisma's models cannot say.
ALTER TABLE "idempotency_phases"
    ADD CONSTRAINT "idempotency_phases_not_executed_check" CHECK ("not_executed" BETWEEN 0 AND "sends");

COMMENT ON TABLE "idempotency_keys" IS 'oncekit schema 2';
