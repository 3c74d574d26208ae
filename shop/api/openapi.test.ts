import { readdirSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ADVICE } from 'oncekit';
import { expect, test } from 'vitest';
import { openApiDocument } from './openapi.ts';

const document = JSON.parse(JSON.stringify(openApiDocument()));
const operations: [string, { security?: unknown[]; responses: Record<string, unknown>; operationId: string }][] =
  Object.entries<object>(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]) => [`${method} ${path}`, operation] as never),
  );

test('describes each route of the API, and no other', () => {
  const routes = readdirSync('app/api', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('route.ts'))
    .map((file) => `/api/${file.replace(/\/route\.ts$/, '').replaceAll(/\[(\w+)\]/g, '{$1}')}`)
    .filter((path) => /^\/api\/(orders|products|idempotency)/.test(path));
  expect(Object.keys(document.paths).sort()).toEqual(routes.sort());
  expect(new Set(operations.map(([, { operationId }]) => operationId)).size).toBe(operations.length);
});

test('every reference leads somewhere, and every schema compiles', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#([^"]+)"/g)].map(([, pointer]) =>
    String(pointer),
  );
  expect(references.length).toBeGreaterThan(50);
  for (const pointer of references) {
    const found = pointer
      .split('/')
      .slice(1)
      .reduce((at, name) => at?.[name.replaceAll('~1', '/')], document);
    expect(found, pointer).toBeDefined();
  }
  for (const schema of Object.values<object>(document.components.schemas)) {
    expect(new Ajv2020({ strict: false, validateFormats: false }).validateSchema(schema)).toBe(true);
  }
});

test('the codes of problems are those of the kit', () => {
  expect(document.components.schemas.Problem.properties.code.enum).toEqual(Object.keys(ADVICE));
});

test('the window and the retention are published, and said in words', () => {
  const key = document.components.parameters.IdempotencyKey;
  expect(key).toMatchObject({ 'x-idempotency-window': 'PT24H', 'x-idempotency-retention': 'PT72H' });
  expect(key.description).toContain('24 h');
  expect(key.description).toContain('72 h');
});

test('what needs a principal says 401, and every POST needs a key', () => {
  for (const [name, { security, responses }] of operations)
    expect('401' in responses, name).toBe(security === undefined);
  const posts = operations.filter(([name]) => name.startsWith('post '));
  expect(posts).toHaveLength(2);
  for (const [, operation] of posts) {
    expect(operation).toMatchObject({ parameters: [{ $ref: '#/components/parameters/IdempotencyKey' }] });
  }
});
