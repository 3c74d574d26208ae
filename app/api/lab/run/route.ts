export { showRun as GET, startRun as POST } from '../../../../shop/lab/requests.ts';
