export { proveOnce as POST } from '../../../../shop/lab/requests.ts';
