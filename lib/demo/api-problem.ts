import { type Code, type Refusal, refuse } from 'oncekit';
import { type ProblemOptions, problemResponse } from 'oncekit/next';

type Details = ProblemOptions & Partial<Pick<Refusal, 'message' | 'reason' | 'data' | 'fieldErrors' | 'retryAfterMs'>>;

/** A refusal as problem details, for the routes that need no key: in the form in which `routeHandler` refuses. */
export function problem(request: Request, code: Code, { status, instance, ...details }: Details = {}): Response {
  return problemResponse(refuse(code, { executed: false, ...details }), request, { status, instance });
}
