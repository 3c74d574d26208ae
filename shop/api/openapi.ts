import { headers, parameters, schemasOfApi } from './openapi-components.ts';
import { paths } from './openapi-paths.ts';
import { ANSWER_KEPT_HOURS, KEY_WINDOW_HOURS } from './windows.ts';

/** The shop's API in OpenAPI 3.1. Tests hold the real answers to it. */
export function openApiDocument() {
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'The oncekit demo shop',
      version: '1',
      description:
        'Orders and refunds that happen once, however often they are sent. POST needs an `Idempotency-Key`; the other ' +
        'methods are idempotent by themselves. Refusals are problem details (RFC 9457). Modelled on ' +
        'draft-ietf-httpapi-idempotency-key-header-07.',
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    'x-idempotency-window': `PT${KEY_WINDOW_HOURS}H`,
    'x-idempotency-retention': `PT${ANSWER_KEPT_HOURS}H`,
    paths,
    components: {
      schemas: schemasOfApi(),
      headers,
      parameters,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'Of the demo: `demo-alice`, `demo-bob`.' },
      },
    },
  };
}
