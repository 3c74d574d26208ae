import { receiptJobs } from './orders/receipts.ts';

/** Everything that the worker does for the shop, by the task's name. Each may run more than once for one job. */
export const jobHandlers: Record<string, (payload: unknown) => Promise<void>> = { ...receiptJobs };
