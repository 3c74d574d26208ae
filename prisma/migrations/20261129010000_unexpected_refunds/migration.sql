-- By hand: what Prisma's models cannot say.

-- A payment that nobody expected is given back by an admin. The books take it in and give it out in one transaction.
ALTER TABLE "refunds"
    DROP CONSTRAINT "refunds_source_check",
    ADD CONSTRAINT "refunds_source_check" CHECK ("source" IN ('form', 'api', 'provider', 'unexpected'));

ALTER TABLE "ledger_entries"
    DROP CONSTRAINT "ledger_entries_posting_check",
    ADD CONSTRAINT "ledger_entries_posting_check" CHECK (
        CASE WHEN "refund_id" IS NULL THEN "posting" = 'charge:' || "order_id"
             ELSE "posting" IN ('refund:' || "refund_id", 'unexpected:' || "refund_id") END
    );

-- Few among all records, and asked for by the admin's first page.
CREATE INDEX "audit_records_money_idx" ON "audit_records"("id")
    WHERE "action" IN ('payment.unexpected', 'refund.unexpected', 'refund.reversed', 'order.disputed');
