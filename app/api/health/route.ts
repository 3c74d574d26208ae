import { isHealthy } from '../../../lib/demo/health.ts';

export const dynamic = 'force-dynamic';

export async function GET(): Promise<Response> {
  const healthy = await isHealthy();
  return Response.json(
    { status: healthy ? 'ok' : 'unavailable' },
    { status: healthy ? 200 : 503, headers: { 'Cache-Control': 'no-store' } },
  );
}
