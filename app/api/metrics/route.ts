import { connection } from 'next/server';
import { operations } from '../../../lib/demo/operations.ts';
import { metricsAnswer } from '../../../lib/demo/telemetry.ts';

export async function GET(request: Request): Promise<Response> {
  await connection(); // asked anew each time, also where Next would answer once for all
  return await metricsAnswer(request, operations);
}
