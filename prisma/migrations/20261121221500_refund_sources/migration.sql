-- By hand: what Prisma's models cannot say.

-- A refund on the provider's own pages has no key here; every other one has the key of its operation.
ALTER TABLE "refunds"
    DROP CONSTRAINT "refunds_source_check",
    ADD CONSTRAINT "refunds_source_check" CHECK ("source" IN ('form', 'api', 'provider')),
    ADD CONSTRAINT "refunds_key_check" CHECK (("source" = 'provider') = ("idempotency_key" IS NULL));
