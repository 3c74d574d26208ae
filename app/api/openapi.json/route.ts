import { openApiDocument } from '../../../shop/api/openapi.ts';

export function GET(): Response {
  return Response.json(openApiDocument(), { headers: { 'Cache-Control': 'no-cache' } });
}
