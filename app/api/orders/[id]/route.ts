import { deleteOrder, showOrder } from '../../../../lib/demo/api-order.ts';
import { ownRoute } from '../../../../lib/demo/api-route.ts';

export const GET = ownRoute(showOrder);
export const DELETE = ownRoute(deleteOrder);
