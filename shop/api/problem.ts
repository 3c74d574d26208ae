import { type Code, type Refusal, refuse } from 'oncekit';
import { type ProblemOptions, problemResponse } from 'oncekit/next';

type Details = ProblemOptions & Partial<Pick<Refusal, 'message' | 'reason' | 'data' | 'fieldErrors' | 'retryAfterMs'>>;

/** Where the demo shows the pages of docs/errors. */
export const ERROR_PAGES = '/docs/errors';

/** A refusal as problem details, for the routes that need no key: in the form in which `routeHandler` refuses. */
export function problem(request: Request, code: Code, { status, instance, ...details }: Details = {}): Response {
  return problemResponse(refuse(code, details), request, { status, instance, errorPages: ERROR_PAGES });
}
