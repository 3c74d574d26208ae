-- CreateTable
CREATE TABLE "idempotency_keys" (
    "tenant" VARCHAR(255) NOT NULL,
    "principal" VARCHAR(255) NOT NULL,
    "operation" VARCHAR(100) NOT NULL,
    "key" VARCHAR(255) NOT NULL,
    "state" VARCHAR(20) NOT NULL,
    "fencing_token" INTEGER NOT NULL DEFAULT 1,
    "attempts" INTEGER NOT NULL DEFAULT 1,
    "fingerprint" BYTEA,
    "fingerprint_version" SMALLINT,
    "secret_id" VARCHAR(16),
    "result" TEXT,
    "schema_version" INTEGER NOT NULL DEFAULT 1,
    "minted_at" TIMESTAMPTZ(3),
    "claimed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "settled_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "needs_attention" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("tenant","principal","operation","key")
);

-- CreateTable
CREATE TABLE "idempotency_events" (
    "id" BIGSERIAL NOT NULL,
    "tenant" VARCHAR(255) NOT NULL,
    "principal" VARCHAR(255) NOT NULL,
    "operation" VARCHAR(100) NOT NULL,
    "key" VARCHAR(255) NOT NULL,
    "type" VARCHAR(40) NOT NULL,
    "actor" VARCHAR(255) NOT NULL,
    "detail" JSONB,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "products" (
    "sku" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "price_cents" INTEGER NOT NULL,
    "stock" INTEGER NOT NULL,

    CONSTRAINT "products_pkey" PRIMARY KEY ("sku")
);

-- CreateTable
CREATE TABLE "carts" (
    "id" UUID NOT NULL,
    "shopper" TEXT NOT NULL,
    "account" TEXT,
    "sku" TEXT NOT NULL,
    "quantity" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "carts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "orders" (
    "id" UUID NOT NULL,
    "cart_id" UUID,
    "tenant" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "sku" TEXT NOT NULL,
    "quantity" INTEGER NOT NULL,
    "amount_cents" INTEGER NOT NULL,
    "status" TEXT NOT NULL,
    "payment_method" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "customer_name" TEXT,
    "email" TEXT,
    "line1" TEXT,
    "city" TEXT,
    "postal_code" TEXT,
    "country" TEXT,
    "idempotency_key" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "orders_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit_records" (
    "id" BIGSERIAL NOT NULL,
    "action" TEXT NOT NULL,
    "tenant" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "order_id" UUID,
    "data" JSONB,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "audit_records_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "idempotency_keys_expires_at_idx" ON "idempotency_keys"("expires_at");

-- CreateIndex
CREATE INDEX "idempotency_keys_claimed_at_idx" ON "idempotency_keys"("claimed_at" DESC);

-- CreateIndex
CREATE INDEX "idempotency_keys_key_idx" ON "idempotency_keys"("key");

-- CreateIndex
CREATE INDEX "idempotency_events_key_idx" ON "idempotency_events"("tenant", "principal", "operation", "key", "at");

-- CreateIndex
CREATE INDEX "carts_shopper_created_at_idx" ON "carts"("shopper", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "orders_cart_id_key" ON "orders"("cart_id");

-- CreateIndex
CREATE INDEX "orders_tenant_principal_created_at_idx" ON "orders"("tenant", "principal", "created_at");

-- CreateIndex
CREATE INDEX "orders_idempotency_key_idx" ON "orders"("idempotency_key");

-- CreateIndex
CREATE INDEX "audit_records_order_id_idx" ON "audit_records"("order_id");

-- AddForeignKey
ALTER TABLE "orders" ADD CONSTRAINT "orders_cart_id_fkey" FOREIGN KEY ("cart_id") REFERENCES "carts"("id") ON DELETE SET NULL ON UPDATE CASCADE;


-- From here on by hand: what Prisma's models cannot say.

-- The states, and what must be true in each (contract K1, S, R4). Back-dating a row for a test means moving
-- claimed_at together with expires_at.
ALTER TABLE "idempotency_keys"
    ADD CONSTRAINT "idempotency_keys_state_check"
        CHECK ("state" IN ('in_progress', 'succeeded', 'failed', 'unknown', 'abandoned')),
    -- Visible ASCII without comma and quotes. The column's length says the rest.
    ADD CONSTRAINT "idempotency_keys_key_check" CHECK ("key" COLLATE "C" ~ '^[!#-&(-+.-~-]+$'),
    ADD CONSTRAINT "idempotency_keys_scope_check" CHECK ("tenant" <> '' AND "principal" <> '' AND "operation" <> ''),
    ADD CONSTRAINT "idempotency_keys_fencing_token_check" CHECK ("fencing_token" >= 1),
    -- HMAC-SHA-256. Null on a tombstone.
    ADD CONSTRAINT "idempotency_keys_fingerprint_check" CHECK ("fingerprint" IS NULL OR octet_length("fingerprint") = 32),
    -- Not "settled has a result": an admin may forget a result and keep the row.
    ADD CONSTRAINT "idempotency_keys_settled_check"
        CHECK ("state" NOT IN ('succeeded', 'failed', 'abandoned') OR "settled_at" IS NOT NULL),
    ADD CONSTRAINT "idempotency_keys_tombstone_check" CHECK ("state" <> 'abandoned' OR "result" IS NULL),
    ADD CONSTRAINT "idempotency_keys_result_check" CHECK ("result" IS NULL OR octet_length("result") <= 262144),
    ADD CONSTRAINT "idempotency_keys_expires_at_check" CHECK ("expires_at" > "claimed_at");

-- Every row is inserted as claimed and updated once when it settles: room on its page keeps that update off the indexes.
ALTER TABLE "idempotency_keys" SET (fillfactor = 90);

-- The shop's last line of defence: whatever the code does, stock is never sold twice.
ALTER TABLE "products" ADD CONSTRAINT "products_stock_check" CHECK ("stock" >= 0);
ALTER TABLE "carts" ADD CONSTRAINT "carts_quantity_check" CHECK ("quantity" > 0);
ALTER TABLE "orders"
    ADD CONSTRAINT "orders_quantity_check" CHECK ("quantity" > 0),
    ADD CONSTRAINT "orders_amount_cents_check" CHECK ("amount_cents" >= 0),
    ADD CONSTRAINT "orders_status_check" CHECK (
        "status" IN ('pending', 'paying', 'paid', 'payment_failed', 'partially_refunded', 'refunded', 'cancelled')
    ),
    ADD CONSTRAINT "orders_source_check" CHECK ("source" IN ('checkout', 'api', 'lab', 'plain'));
