import { problem } from '../../../shop/api/problem.ts';

/** An address that no route has. Without it Next would show its page, and read a posted form for that page's actions. */
const nothing = (request: Request) => problem(request, 'not_found');

export { nothing as DELETE, nothing as GET, nothing as PATCH, nothing as POST, nothing as PUT };
