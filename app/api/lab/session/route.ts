export { turnSession as POST } from '../../../../lib/demo/lab-requests.ts';
