import { countExampleOrders, queryOrder } from '../../../../shop/lab/examples.ts';
import { currentPrincipal } from '../../../../shop/session/visitor.ts';

/** The orders of the example's query. */
export async function GET(): Promise<Response> {
  return Response.json(await countExampleOrders(queryOrder.name, await currentPrincipal()));
}
