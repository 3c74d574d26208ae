export { orderPlainly as POST } from '../../../../shop/lab/requests.ts';
