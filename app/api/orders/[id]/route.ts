import { deleteOrder, showOrder } from '../../../../shop/api/order.ts';
import { ownRoute } from '../../../../shop/api/route.ts';

export const GET = ownRoute(showOrder);
export const DELETE = ownRoute(deleteOrder);
