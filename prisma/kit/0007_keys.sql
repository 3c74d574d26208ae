-- oncekit schema 7, from 6. Written into your migrations by `npx oncekit init`.
--
-- No row is read or rewritten, and no index is built.

-- What is kept of a foreign call once its key has settled: beside the reference, how much it was, and how its result became known.
ALTER TABLE "idempotency_phases"
    ADD COLUMN IF NOT EXISTS "amount" VARCHAR(100),
    ADD COLUMN IF NOT EXISTS "known_by" VARCHAR(10);

-- By this the kit and `npx oncekit doctor` know what is here.
COMMENT ON TABLE "idempotency_keys" IS 'oncekit schema 7';
