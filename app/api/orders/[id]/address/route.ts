import { putAddress } from '../../../../../shop/api/order.ts';
import { ownRoute } from '../../../../../shop/api/route.ts';

export const PUT = ownRoute(putAddress);
