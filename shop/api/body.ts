import { BadPayloadError } from 'oncekit';
import { readBody } from 'oncekit/next';
import type { z } from 'zod';
import { problem } from './problem.ts';

/** The body, as the schema wants it; or the refusal that says what is wrong with it. */
export async function bodyOf<T>(request: Request, schema: z.ZodType<T>): Promise<{ body: T } | { refused: Response }> {
  let sent: unknown;
  try {
    sent = await readBody(request);
  } catch (error) {
    if (!(error instanceof BadPayloadError)) throw error;
    return { refused: problem(request, error.code, { message: error.message }) };
  }
  const parsed = schema.safeParse(sent);
  if (parsed.success) return { body: parsed.data };
  const fieldErrors: Record<string, string[]> = {};
  for (const { path, message } of parsed.error.issues) {
    const field = path.join('.');
    fieldErrors[field] = [...(fieldErrors[field] ?? []), message];
  }
  return { refused: problem(request, 'validation', { fieldErrors }) };
}
