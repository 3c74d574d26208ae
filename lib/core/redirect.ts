/** A redirect that a handler asked for by throwing, as Next's `redirect()` does. */
export interface Redirect {
  url: string;
  type: 'push' | 'replace';
  status: number;
}

/**
 * Reads Next's redirect out of a thrown value by its digest, `NEXT_REDIRECT;<type>;<url>;<status>;`, so that nothing
 * here imports Next. The URL may itself hold semicolons. Source: next/dist/client/components/redirect-error.
 */
export function redirectOf(thrown: unknown): Redirect | undefined {
  const [name, type, ...rest] = digestOf(thrown)?.split(';') ?? [];
  if (name !== 'NEXT_REDIRECT' || (type !== 'push' && type !== 'replace')) return undefined;
  const status = Number(rest.at(-2));
  const url = rest.slice(0, -2).join(';');
  return url !== '' && Number.isInteger(status) ? { url, type, status } : undefined;
}

/** Tells whether a thrown value steers Next (`redirect`, `notFound`, …) instead of reporting an error. */
export function isControlFlow(thrown: unknown): boolean {
  return digestOf(thrown)?.startsWith('NEXT_') ?? false;
}

function digestOf(thrown: unknown): string | undefined {
  const { digest } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as { digest?: unknown };
  return typeof digest === 'string' ? digest : undefined;
}
