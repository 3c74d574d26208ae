-- AlterTable
ALTER TABLE "refunds" ADD COLUMN     "source" TEXT NOT NULL DEFAULT 'form';

-- CreateTable
CREATE TABLE "rate_limits" (
    "key" VARCHAR(255) NOT NULL,
    "points" INTEGER NOT NULL DEFAULT 0,
    "expire" BIGINT,

    CONSTRAINT "rate_limits_pkey" PRIMARY KEY ("key")
);

-- From here on by hand: what Prisma's models cannot say.

-- What is there already was asked for by the form: there was no other way.
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_source_check" CHECK ("source" IN ('form', 'api'));
