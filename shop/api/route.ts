import { isUnavailable, type Principal } from 'oncekit';
import { currentPrincipal } from '../session/visitor.ts';
import { problem } from './problem.ts';

interface Asked {
  request: Request;
  id: string;
  who: Principal;
}

type Context = { params: Promise<{ id: string }> };

/**
 * A route handler about one thing of the caller's own, for the methods that need no key. Nobody gets 401; what is thrown
 * becomes a problem, too: 503 when the database is away, else 500, with an instance that the log shows as well.
 */
export function ownRoute(answer: (asked: Asked) => Promise<Response>) {
  return async (request: Request, { params }: Context): Promise<Response> =>
    answered(request, async () => {
      const who = await currentPrincipal();
      return who ? await answer({ request, who, id: (await params).id }) : problem(request, 'unauthorized');
    });
}

/** The answer, or what was thrown as a problem. */
export async function answered(request: Request, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    const instance = `urn:uuid:${crypto.randomUUID()}`;
    const { name, code } = error instanceof Error ? (error as Error & { code?: unknown }) : { name: typeof error };
    // Without the message: Prisma's hold the arguments of the query, and so what somebody entered.
    console.error(`[demo] ${request.method} ${new URL(request.url).pathname} (${instance})`, name, code ?? '');
    if (isUnavailable(error)) return problem(request, 'unavailable', { instance, retryAfterMs: 1000 });
    return problem(request, 'internal', { instance });
  }
}
