import { crashAtEveryPoint } from './fixtures/crash-points.ts';

/** An app that does not wrap its pool: the kit's statements then travel by themselves. */
crashAtEveryPoint('a plain pool', '@chaos');
