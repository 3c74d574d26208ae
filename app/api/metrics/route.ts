import { connection } from 'next/server';
import { operations } from '../../../shop/operations.ts';
import { metricsAnswer } from '../../../shop/telemetry.ts';

export async function GET(request: Request): Promise<Response> {
  await connection(); // asked anew each time, also where Next would answer once for all
  return await metricsAnswer(request, operations);
}
