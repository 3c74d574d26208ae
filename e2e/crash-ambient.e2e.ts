import { crashAtEveryPoint } from './fixtures/crash-points.ts';

/** An app whose executions have transactions of the kit's own. */
crashAtEveryPoint('ambient transactions', '@chaos');
