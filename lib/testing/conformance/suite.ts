import { bodyCases } from './bodies.ts';
import { callCases } from './calls.ts';
import type { ConformanceCase } from './endpoint.ts';
import { httpCases } from './http.ts';
import { keyCases } from './keys.ts';
import type { ConformanceTarget } from './target.ts';

/**
 * The rules of the contract that show over HTTP, each as a case that throws when the endpoint does not keep it. Free of
 * any test runner: `docs/conformance.md` shows how to run them against an endpoint of your own.
 */
export const conformanceCases: readonly ConformanceCase[] = [...keyCases, ...callCases, ...httpCases, ...bodyCases];

/** The cases for which the target has all that they need. The others are not passed, but left out. */
export function casesFor(offered: Partial<ConformanceTarget>): readonly ConformanceCase[] {
  return conformanceCases.filter(({ needs }) => needs.every((need) => offered[need] !== undefined));
}
