import { statusRoute } from 'oncekit/next';
import { operations } from '../../../../../lib/demo/operations.ts';
import { admitStatusRequest } from '../../../../../lib/demo/status-limit.ts';

export const { GET, DELETE } = statusRoute(operations, { admit: admitStatusRequest });
