import { bare, orderInput, plainClient } from '../../../../bench/order.ts';

const client = plainClient();

export async function POST(request: Request): Promise<Response> {
  const { n } = orderInput.parse(await request.json());
  const { id } = await bare(client, n);
  return Response.json({ id }, { status: 201 });
}
