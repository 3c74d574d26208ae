/** Vitest's setup: the properties of fast-check try the same values in each run, as everything that is left to chance. */
import fc from 'fast-check';
import { SEED } from './tier.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });
