import { ConfigurationError } from '../core/errors.ts';
import { type KeyId, principalOf } from '../core/scope.ts';
import type { Admin } from './admin.ts';

/** The functions of an admin of one tenant. What is another's is as if it were not there. */
export function ofOneTenant(tenant: string, all: Admin): Admin {
  const onOurs =
    <Id extends KeyId, Args extends unknown[], Done>(act: (id: Id, ...args: Args) => Promise<Done>, otherwise: Done) =>
    async (id: Id, ...args: Args) =>
      id.tenant === tenant ? await act(id, ...args) : otherwise;
  const pageOfOurs =
    <Filter extends { tenant?: string | undefined }, Page>(list: (filter: Filter) => Promise<Page>, none: Page) =>
    async (filter: Filter) => {
      const asked = filter.tenant ?? tenant;
      return asked === tenant ? await list({ ...filter, tenant }) : none;
    };
  const assertOurs = (given: string) => {
    if (given === tenant) return;
    throw new ConfigurationError('This admin is one of a single tenant: nothing was done.', {
      existing: given,
      expected: tenant,
    });
  };
  return {
    // It was asked of the tenant's keys alone.
    overview: all.overview,
    promises: all.promises,
    outcomes: async () => [],
    listKeys: pageOfOurs(all.listKeys, { rows: [], hasMore: false }),
    findKey: onOurs(all.findKey, null),
    audit: pageOfOurs(all.audit, { rows: [], hasMore: false }),
    resolve: onOurs(all.resolve, 'changed'),
    retryNow: onOurs(all.retryNow, 'changed'),
    release: onOurs(all.release, 'changed'),
    fence: onOurs(all.fence, 'refused'),
    forget: onOurs(all.forget, 'changed'),
    acknowledge: onOurs(all.acknowledge, 'changed'),
    erasePrincipal: async (who, actor) => {
      assertOurs(principalOf(who).tenant);
      return await all.erasePrincipal(who, actor);
    },
    record: async (act) => {
      assertOurs(act.tenant ?? tenant);
      await all.record({ ...act, tenant });
    },
  };
}
