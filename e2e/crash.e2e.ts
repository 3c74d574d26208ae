import { crashAtEveryPoint, POINTS } from './fixtures/crash-points.ts';

// All of them: `npm test` has no other path.
crashAtEveryPoint('our pool', '@chaos-short', POINTS);
