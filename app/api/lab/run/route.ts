export { showRun as GET, startRun as POST } from '../../../../lib/demo/lab-requests.ts';
