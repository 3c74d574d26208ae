export { turnSession as POST } from '../../../../shop/lab/requests.ts';
