-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "disputed_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "refunds" ALTER COLUMN "idempotency_key" DROP NOT NULL;

-- CreateTable
CREATE TABLE "received_events" (
    "id" VARCHAR(255) NOT NULL,
    "type" TEXT NOT NULL,
    "aggregate" TEXT NOT NULL,
    "sequence" INTEGER NOT NULL,
    "payload" TEXT NOT NULL,
    "webhooks" INTEGER NOT NULL DEFAULT 0,
    "streams" INTEGER NOT NULL DEFAULT 0,
    "effects" INTEGER NOT NULL DEFAULT 0,
    "first_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "received_events_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "received_events_first_at_idx" ON "received_events"("first_at" DESC);
