-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "payment_intent" TEXT;

-- CreateTable
CREATE TABLE "refunds" (
    "id" UUID NOT NULL,
    "order_id" UUID NOT NULL,
    "tenant" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "amount_cents" INTEGER NOT NULL,
    "status" TEXT NOT NULL,
    "provider_refund" TEXT,
    "idempotency_key" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "settled_at" TIMESTAMPTZ(3),

    CONSTRAINT "refunds_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ledger_entries" (
    "id" BIGSERIAL NOT NULL,
    "posting" TEXT NOT NULL,
    "account" TEXT NOT NULL,
    "amount_cents" INTEGER NOT NULL,
    "order_id" UUID NOT NULL,
    "refund_id" UUID,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ledger_entries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "mails" (
    "id" BIGSERIAL NOT NULL,
    "kind" TEXT NOT NULL,
    "subject_id" UUID NOT NULL,
    "order_id" UUID NOT NULL,
    "recipient" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "sent_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "mails_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "refunds_provider_refund_key" ON "refunds"("provider_refund");

-- CreateIndex
CREATE INDEX "refunds_order_id_idx" ON "refunds"("order_id");

-- CreateIndex
CREATE INDEX "refunds_idempotency_key_idx" ON "refunds"("idempotency_key");

-- CreateIndex
CREATE INDEX "ledger_entries_order_id_idx" ON "ledger_entries"("order_id");

-- CreateIndex
CREATE UNIQUE INDEX "ledger_entries_posting_account_key" ON "ledger_entries"("posting", "account");

-- CreateIndex
CREATE INDEX "mails_order_id_idx" ON "mails"("order_id");

-- CreateIndex
CREATE UNIQUE INDEX "mails_kind_subject_id_key" ON "mails"("kind", "subject_id");

-- CreateIndex
CREATE UNIQUE INDEX "orders_payment_intent_key" ON "orders"("payment_intent");

-- AddForeignKey
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_entries" ADD CONSTRAINT "ledger_entries_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_entries" ADD CONSTRAINT "ledger_entries_refund_id_fkey" FOREIGN KEY ("refund_id") REFERENCES "refunds"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "mails" ADD CONSTRAINT "mails_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- From here on by hand: what Prisma's models cannot say.

ALTER TABLE "refunds"
    ADD CONSTRAINT "refunds_amount_cents_check" CHECK ("amount_cents" > 0),
    ADD CONSTRAINT "refunds_status_check" CHECK ("status" IN ('pending', 'succeeded', 'failed')),
    -- No refund counts as done without the provider's name for it, and every one that is settled says when.
    ADD CONSTRAINT "refunds_succeeded_check" CHECK ("status" <> 'succeeded' OR "provider_refund" IS NOT NULL),
    ADD CONSTRAINT "refunds_settled_check" CHECK (("status" = 'pending') = ("settled_at" IS NULL));

ALTER TABLE "orders"
    -- Nothing is called paid for which there is no charge.
    ADD CONSTRAINT "orders_paid_check"
        CHECK ("status" NOT IN ('paid', 'partially_refunded', 'refunded') OR "payment_intent" IS NOT NULL);

ALTER TABLE "ledger_entries"
    ADD CONSTRAINT "ledger_entries_amount_cents_check" CHECK ("amount_cents" <> 0),
    ADD CONSTRAINT "ledger_entries_account_check" CHECK ("account" IN ('payments', 'sales')),
    ADD CONSTRAINT "ledger_entries_posting_check" CHECK (
        "posting" = CASE WHEN "refund_id" IS NULL THEN 'charge:' || "order_id" ELSE 'refund:' || "refund_id" END
    );

ALTER TABLE "mails" ADD CONSTRAINT "mails_kind_check" CHECK ("kind" IN ('receipt', 'refund_receipt'));
