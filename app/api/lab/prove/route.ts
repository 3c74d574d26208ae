export { proveOnce as POST } from '../../../../lib/demo/lab-requests.ts';
