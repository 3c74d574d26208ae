-- By hand: what Prisma's models cannot say.

-- The version of the kit's tables, which the kit reads where one of its statements fails, and `oncekit doctor` at any
-- time. Raised by each migration that changes them.
COMMENT ON TABLE "idempotency_keys" IS 'oncekit schema 1';
COMMENT ON TABLE "outbox_events" IS 'oncekit schema 1';
