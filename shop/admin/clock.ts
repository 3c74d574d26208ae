/**
 * The moment that a page of the admin view shows, in ms. A page runs once for each request, so it may read the clock; React's
 * lint rules cannot tell it from a component that renders again in the browser, and refuse `Date.now()` inside of either.
 */
export function renderedAt(): number {
  return Date.now();
}
