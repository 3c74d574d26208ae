export { orderPlainly as POST } from '../../../../lib/demo/lab-requests.ts';
