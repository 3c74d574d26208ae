import { db } from '../db.ts';
import { docsAddresses } from '../docs/addresses.ts';
import { findPreset } from '../lab/presets.ts';
import { isOwner } from './adoption.ts';
import type { Session } from './session.ts';
import { principalOf } from './visitor.ts';

interface Visitor {
  session: Session | null;
  /** May be an admin, who sees all orders: the page itself asks whether. */
  maySeeAll: boolean;
}

/** Tells, by the last part of an address, whether a page of this area is there for this visitor. */
const AREAS: Record<string, (name: string, path: string, visitor: Visitor) => Promise<boolean>> = {
  orders: async (id, _, { session, maySeeAll }) => {
    if (!UUID.test(id) || !(session || maySeeAll)) return false;
    const order = await db().order.findUnique({ where: { id }, select: { tenant: true, principal: true } });
    if (maySeeAll || !session) return order !== null;
    const who = principalOf(session);
    return order?.tenant === who.tenant && (await isOwner(who, order.principal));
  },
  docs: async (_, path) => [...(await docsAddresses()).values()].includes(path),
  lab: async (slug) => findPreset(slug) !== undefined,
};

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * The area of an address at which this visitor finds nothing; undefined where the page itself has to say. Asked before anything
 * is rendered: what a page finds out by `notFound()` Next shows by a script, so that people without JavaScript get an empty page.
 */
export async function nothingHere(pathname: string, visitor: Visitor): Promise<string | undefined> {
  const [, area = '', name] = /^\/(\w+)\/(?:.*\/)?([^/]+)$/.exec(pathname) ?? [];
  const isThere = Object.hasOwn(AREAS, area) && name ? AREAS[area] : undefined;
  // Without the database nobody knows; the page then says so in words.
  const isNothing = isThere && !(await isThere(name ?? '', pathname, visitor).catch(() => true));
  return isNothing ? area : undefined;
}

/** Tells the page that stands there instead which area it is about. */
export const NOTHING_HEADER = 'x-nothing-in';
