import { headers } from 'next/headers.js';

/**
 * The address for `redirect()` in an action. Next's router adds the `basePath` to what it is told; to a form that was sent
 * without JavaScript Next answers with the address as it is (its action-handler.js, version 16), which leads out of the app.
 */
export async function redirectAddress(url: string): Promise<string> {
  const basePath = process.env.__NEXT_ROUTER_BASEPATH ?? '';
  if (basePath === '' || !/^\/(?!\/)/.test(url)) return url;
  return (await headers()).has('next-action') ? url : `${basePath}${url}`;
}
