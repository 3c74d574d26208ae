import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { NextConfig } from 'next';
import { BARE_POLICY } from './shop/session/page-security.ts';
import { distDirOf, tsconfigOf, variantOf } from './shop/variants.ts';

/** The migrations this build is made for: /api/health compares them with what the database has. */
const migrations = readdirSync(join(import.meta.dirname, 'prisma/migrations'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

const securityHeaders = [
  { key: 'X-Content-Type-Options', value: 'nosniff' },
  { key: 'Referrer-Policy', value: 'strict-origin-when-cross-origin' },
  { key: 'X-Frame-Options', value: 'DENY' },
  { key: 'Permissions-Policy', value: 'camera=(), geolocation=(), microphone=()' },
  // A page has another one, with a nonce, from proxy.ts.
  { key: 'Content-Security-Policy', value: BARE_POLICY },
];

/** Where the browser has come by https: it comes so again, for half a year. */
const httpsHeaders = [{ key: 'Strict-Transport-Security', value: 'max-age=15552000' }];

const variant = variantOf(process.env);
const distDir = distDirOf(variant);

const config: NextConfig = {
  distDir,
  experimental: {
    // To fill it takes a third of a build's time: from the second one on, which is the first that may have something of it.
    turbopackFileSystemCacheForBuild: existsSync(join(import.meta.dirname, distDir, 'BUILD_ID')),
    useOffline: variant.useOffline,
    // A picture is the largest thing that a form here sends (MAX_PICTURE_BYTES).
    serverActions: { bodySizeLimit: '600kb' },
  },
  ...(variant.cacheComponents
    ? {
        cacheComponents: true,
        partialPrefetching: true,
        // Every page is made for one visitor (app/instant.ts), so none has a static shell to send ahead. Next would send
        // an empty one, and with it the status 200: no 404, no redirect. Those who must have all metadata in the first
        // HTML are spared that, and here that is everybody.
        htmlLimitedBots: /.*/,
        cacheHandler: join(import.meta.dirname, 'shop/no-page-cache.mjs'),
      }
    : {}),
  // One copy for pages and routes: what one of them has thrown, the other tells by its class.
  serverExternalPackages: ['stripe'],
  poweredByHeader: false,
  // `npm run check` type-checks everything; a demo that starts must not wait for the types of its tests.
  typescript: { ignoreBuildErrors: true, tsconfigPath: tsconfigOf(variant, import.meta.dirname) },
  env: { ONCEKIT_MIGRATIONS: migrations.join(',') },
  headers: async () => [
    { source: '/:path*', headers: securityHeaders },
    {
      source: '/:path*',
      has: [{ type: 'header', key: 'x-forwarded-proto', value: 'https(,.*)?' }],
      headers: httpsHeaders,
    },
  ],
};

export default config;
