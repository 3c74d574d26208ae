-- oncekit schema 5, from 4. Written into your migrations by `npx oncekit init`.

-- 30 days in hours, as the reaper counts them: where a clock has left summer time, 30 days are 721 of them.
CREATE OR REPLACE TRIGGER "idempotency_audit_kept" BEFORE DELETE ON "idempotency_audit"
    FOR EACH ROW WHEN (OLD."at" > statement_timestamp() - INTERVAL '720 hours') EXECUTE FUNCTION "oncekit_append_only"();

-- By this the kit and `npx oncekit doctor` know what is here.
COMMENT ON TABLE "idempotency_keys" IS 'oncekit schema 5';
