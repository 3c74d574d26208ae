-- CreateTable
CREATE TABLE "adopted_shoppers" (
    "shopper" TEXT NOT NULL,
    "account" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "adopted_shoppers_pkey" PRIMARY KEY ("shopper")
);

-- CreateIndex
CREATE INDEX "adopted_shoppers_account_at_idx" ON "adopted_shoppers"("account", "at");

-- CreateIndex
CREATE INDEX "carts_account_created_at_idx" ON "carts"("account", "created_at");

-- By hand: until now a shopper kept the id through sign-in, and the carts told to which account.
INSERT INTO "adopted_shoppers" ("shopper", "account", "at")
SELECT DISTINCT ON ("shopper") "shopper", "account", "created_at" FROM "carts"
 WHERE "account" IS NOT NULL
 ORDER BY "shopper", "created_at";
