import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { currentPrincipal } from './visitor.ts';

/** A waiting form asks once a second; this lets several tabs do so. Per process: it protects this one's pool. */
const limiter = new RateLimiterMemory({ points: 120, duration: 30 });

/** Limits how often one visitor may ask for the status of keys, or fence them. */
export async function admitStatusRequest(): Promise<true | number> {
  const who = await currentPrincipal();
  try {
    await limiter.consume(who?.principal ?? 'nobody');
    return true;
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused.msBeforeNext;
    throw refused;
  }
}
