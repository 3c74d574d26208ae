import { openApiDocument } from '../../../lib/demo/api-openapi.ts';

export function GET(): Response {
  return Response.json(openApiDocument(), { headers: { 'Cache-Control': 'no-cache' } });
}
