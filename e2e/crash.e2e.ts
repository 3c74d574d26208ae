import { crashAtEveryPoint } from './fixtures/crash-points.ts';

crashAtEveryPoint('our pool', '@chaos-short');
