import { ADVICE, BadPayloadError } from 'oncekit';
import { readBody } from 'oncekit/next';
import { refusal } from '../payments/webhook-request.ts';

const FORM = /^multipart\/form-data/i;

/**
 * The refusal of a form that is too large, has too many fields or is none, before Next parses it for an action: Next has
 * no limit on fields, and answers what it cannot read with a 500. For the proxy, which reads a copy of the body.
 */
export async function refuseForm(request: Request): Promise<Response | undefined> {
  if (request.method !== 'POST' || !FORM.test(request.headers.get('content-type') ?? '')) return undefined;
  try {
    await readBody(request);
  } catch (error) {
    if (!(error instanceof BadPayloadError)) throw error;
    return refusal(ADVICE[error.code].status, error.message);
  }
}

/** The arguments of an action. They can be anything, whatever its types say. */
export function postedForm(sent: unknown): FormData {
  return sent instanceof FormData ? sent : new FormData();
}
