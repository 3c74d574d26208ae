import { countExampleOrders, queryOrder } from '../../../../lib/demo/examples.ts';
import { currentPrincipal } from '../../../../lib/demo/visitor.ts';

/** What the example's query asks for. */
export async function GET(): Promise<Response> {
  return Response.json(await countExampleOrders(queryOrder.name, await currentPrincipal()));
}
