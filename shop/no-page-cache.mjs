/**
 * Remembers no page, for the demo with Cache Components: every page of it is made for one visitor. What Next remembers
 * of a page while building, it takes up again after a server action, and React cannot hand the action's result to a
 * page that is taken up again: without JavaScript the answer would be lost.
 */
export default class NoPageCache {
  async get() {
    return null;
  }
  async set() {}
  async revalidateTag() {}
  resetRequestCache() {}
}
