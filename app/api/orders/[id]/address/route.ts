import { putAddress } from '../../../../../lib/demo/api-order.ts';
import { ownRoute } from '../../../../../lib/demo/api-route.ts';

export const PUT = ownRoute(putAddress);
