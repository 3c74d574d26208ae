export { type ProblemOptions, problemResponse } from '../http/problem.ts';
export { readBody, readBytes } from '../http/read-body.ts';
export type { KeyedCall } from './action-call.ts';
export { type CronRouteOptions, cronRoute } from './cron-route.ts';
export { issueKey } from './issue-key.ts';
export { rollbackAndRedirect } from './rollback-redirect.ts';
export { type RouteHandler, type RouteHandlerOptions, routeHandler } from './route-handler.ts';
export { type ServerAction, type ServerActionOptions, serverAction } from './server-action.ts';
export { type StatusRouteOptions, statusRoute } from './status-route.ts';
