import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Next's features that a build of the demo has switched on. The demo works with and without each. */
export interface Variant {
  cacheComponents: boolean;
  useOffline: boolean;
}

/** All four, the one of `npm run demo` first. */
export const VARIANTS: readonly Variant[] = [
  { cacheComponents: false, useOffline: false },
  { cacheComponents: false, useOffline: true },
  { cacheComponents: true, useOffline: false },
  { cacheComponents: true, useOffline: true },
];

export function variantOf(env: Readonly<Record<string, string | undefined>>): Variant {
  return { cacheComponents: env.DEMO_CACHE_COMPONENTS === '1', useOffline: env.DEMO_USE_OFFLINE === '1' };
}

/** The environment in which `next build` and `next start` are about this variant. */
export function envOf({ cacheComponents, useOffline }: Variant): Record<string, string> {
  return { DEMO_CACHE_COMPONENTS: cacheComponents ? '1' : '', DEMO_USE_OFFLINE: useOffline ? '1' : '' };
}

/** A folder of its own for each build, under the root of the repository. */
export function distDirOf(variant: Variant): string {
  const name = nameOf(variant);
  return name === DEFAULT_NAME ? '.next' : `.data/builds/${name}`;
}

const DEFAULT_NAME = 'default';

export function nameOf({ cacheComponents, useOffline }: Variant): string {
  return (
    [cacheComponents ? 'cache-components' : '', useOffline ? 'use-offline' : ''].filter(Boolean).join('-') ||
    DEFAULT_NAME
  );
}

/** `next build` adds the folder of its build to the tsconfig's `include`. Only for the default one is that ours. */
export function tsconfigOf(variant: Variant, root: string): string {
  if (nameOf(variant) === DEFAULT_NAME) return 'tsconfig.json';
  const file = '.data/builds/tsconfig.json';
  const path = join(root, file);
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify({ extends: '../../tsconfig.json', include: [] }));
  }
  return file;
}
