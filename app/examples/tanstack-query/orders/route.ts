import { countExampleOrders, queryOrder } from '../../../../shop/lab/examples.ts';
import { currentPrincipal } from '../../../../shop/session/visitor.ts';

/** What the example's query asks for. */
export async function GET(): Promise<Response> {
  return Response.json(await countExampleOrders(queryOrder.name, await currentPrincipal()));
}
