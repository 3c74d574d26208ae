import { expect } from 'vitest';
import { COUNTED } from './effects-mark.ts';

/** `expect` for rows, charges and answers that a test has counted: its failure is never taken for a flaky test. */
export const expectCounted = <T>(counted: T, what?: string) => expect(counted, what ? `${COUNTED}: ${what}` : COUNTED);
