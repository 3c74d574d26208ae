import { statusRoute } from 'oncekit/next';
import { operations } from '../../../../../shop/operations.ts';

export const { GET, DELETE } = statusRoute(operations);
