import { COMPLAINT_FIELD, OPERATION_FIELD } from '../../core/fields.ts';
import { askedOperation, type Settings } from './settings.ts';

/**
 * Mistakes that the browser has found in development, on their way to the server's console with the next form. Empty in
 * production.
 */
export const complaints: string[] = [];

/** Tells the server of them, and which operation the intent names: the action knows its own. */
export function passOnComplaints(values: object, settings: Pick<Settings<never>, 'operation' | 'intent'>): void {
  if (!(values instanceof FormData)) return;
  values.set(OPERATION_FIELD, askedOperation(settings));
  for (const words of complaints.splice(0)) values.append(COMPLAINT_FIELD, words);
}
