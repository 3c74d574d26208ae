-- AlterTable
-- Without a default: no table is rewritten, and a row without a trace does not grow by a byte.
ALTER TABLE "idempotency_keys" ADD COLUMN "trace_parent" TEXT;
