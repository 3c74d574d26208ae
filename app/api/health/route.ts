import { connection } from 'next/server';
import { isHealthy } from '../../../shop/health.ts';

export async function GET(): Promise<Response> {
  await connection(); // asked anew each time, also where Next would answer once for all
  const healthy = await isHealthy();
  return Response.json(
    { status: healthy ? 'ok' : 'unavailable' },
    { status: healthy ? 200 : 503, headers: { 'Cache-Control': 'no-store' } },
  );
}
