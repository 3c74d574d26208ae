import { crashAtEveryPoint } from './fixtures/crash-points.ts';
import { test } from './fixtures/test.ts';

/** An app that does not wrap its pool: the kit's statements then travel by themselves. */
test.use({ appEnv: { POOL: 'plain' } });

crashAtEveryPoint('a plain pool');
