import type { Principal } from 'oncekit';
import { db } from '../db.ts';

/**
 * Gives an account all that an anonymous shopper has and will have: their orders keep the shopper's name, so that the
 * keys that placed them find them, and the row says whose they are. From here on the shopper's id opens nothing by itself.
 *
 * Returns since when; null when another account was first.
 */
export async function adoptShopper(shopper: string, account: string): Promise<Date | null> {
  await db().adoptedShopper.createMany({ data: [{ shopper, account }], skipDuplicates: true });
  const adopted = await db().adoptedShopper.findUniqueOrThrow({ where: { shopper } });
  if (adopted.account !== account) return null;
  await db().cart.updateMany({ where: { shopper, account: null }, data: { account } });
  return adopted.at;
}

/** A page shows the newest orders; those of so many sign-ins ago are found by their address. */
const MOST_NAMES = 500;

/** The newest names under which somebody's orders were placed: their own, and those of the shoppers they were before. */
export async function namesOf(who: Principal): Promise<string[]> {
  return await namesFrom(who, MOST_NAMES);
}

/** The same, however many they are: for what must cover all of a person. */
export async function allNamesOf(who: Principal): Promise<string[]> {
  return await namesFrom(who);
}

async function namesFrom({ principal }: Principal, most?: number): Promise<string[]> {
  const adopted = await db().adoptedShopper.findMany({
    where: { account: principal },
    orderBy: { at: 'desc' },
    ...(most === undefined ? {} : { take: most }),
    select: { shopper: true },
  });
  return [principal, ...adopted.map(({ shopper }) => shopper)];
}

/** Tells whether orders that were placed under this name are this principal's. */
export async function isOwner({ principal }: Principal, name: string): Promise<boolean> {
  if (name === principal) return true;
  return (await db().adoptedShopper.findUnique({ where: { shopper: name } }))?.account === principal;
}
