import type { KeysQuery } from '../../../shop/admin/query.ts';
import { Button } from '../../ui/button.tsx';
import { Field, SelectField } from '../../ui/field.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { stateName, states } from './state-badge.tsx';

/** A GET form: what is filtered stands in the address, to be kept and passed on. */
export function KeyFilters({ query, operations }: { query: KeysQuery; operations: readonly string[] }) {
  // An operation of another version of the app may still have rows.
  const names =
    query.operation && !operations.includes(query.operation) ? [...operations, query.operation] : operations;
  return (
    <search>
      <form
        action="/admin/keys"
        className="mb-4 grid items-end gap-3 sm:grid-cols-2 lg:grid-cols-[8rem_11rem_1fr_9rem_auto]"
      >
        {query.stuck ? <input type="hidden" name="stuck" value="1" /> : null}
        <SelectField key={`state ${query.state}`} label="State" name="state" defaultValue={query.state ?? ''}>
          <option value="">Any</option>
          {states.map((state) => (
            <option key={state} value={state}>
              {stateName(state)}
            </option>
          ))}
        </SelectField>
        <SelectField
          key={`operation ${query.operation}`}
          label="Operation"
          name="operation"
          defaultValue={query.operation ?? ''}
        >
          <option value="">Any</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        <Field
          key={`q ${query.q}`}
          label="Key, principal or thing begins with"
          name="q"
          type="search"
          autoComplete="off"
          defaultValue={query.q ?? ''}
        />
        <SelectField key={`sort ${query.sort}`} label="Order" name="sort" defaultValue={query.sort ?? ''}>
          <option value="">Newest first</option>
          <option value="oldest">Oldest first</option>
          <option value="expires">Next to expire</option>
        </SelectField>
        <div className="flex items-center gap-3 sm:max-lg:col-span-2">
          <Button variant="quiet" className="max-sm:flex-1">
            Filter
          </Button>
          {query.state || query.stuck || query.operation || query.q || query.sort ? (
            <TextLink href="/admin/keys" className="p-2">
              Clear
            </TextLink>
          ) : null}
        </div>
      </form>
    </search>
  );
}
