import type { KeysQuery } from '../../../shop/admin/query.ts';
import { Button } from '../../ui/button.tsx';
import { Field, SelectField } from '../../ui/field.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { listHref } from '../shared/addresses.ts';
import { stateName, states } from './state-badge.tsx';

interface Props {
  query: KeysQuery;
  operations: readonly string[];
  /** Says in words what the app's own rows are found by; '' for nothing. */
  foundBesides: string;
  /** A table is too large for the search to have looked through all of it. */
  isCut: boolean | undefined;
}

/** A GET form: what is filtered stands in the address, to be kept and passed on. */
export function KeyFilters({ query, operations, foundBesides, isCut }: Props) {
  const { state, stuck, operation, q, from, to, sort, page: _, ...whose } = query;
  // An operation of another version of the app may still have rows.
  const names = operation && !operations.includes(operation) ? [...operations, operation] : operations;
  const hidden = Object.entries({ stuck, ...whose }).filter(([, value]) => value);
  return (
    <search>
      <form
        action="/admin/keys"
        className="mb-4 grid grid-cols-2 items-end gap-3 lg:grid-cols-[10rem_13rem_minmax(0,1fr)_10rem]"
      >
        {hidden.map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <SelectField key={`state ${state}`} label="State" name="state" defaultValue={state ?? ''}>
          <option value="">Any</option>
          {states.map((each) => (
            <option key={each} value={each}>
              {stateName(each)}
            </option>
          ))}
        </SelectField>
        <SelectField key={`operation ${operation}`} label="Operation" name="operation" defaultValue={operation ?? ''}>
          <option value="">Any</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        <Field
          key={`q ${q}`}
          label="Search"
          name="q"
          type="search"
          autoComplete="off"
          aria-describedby="search-finds"
          defaultValue={q ?? ''}
          className="max-lg:col-span-2"
        />
        <SelectField
          key={`sort ${sort}`}
          label="Order"
          name="sort"
          defaultValue={sort ?? ''}
          className="max-lg:col-span-2"
        >
          <option value="">Newest first</option>
          <option value="oldest">Oldest first</option>
          <option value="expires">Next to expire</option>
        </SelectField>
        <p id="search-finds" className="col-span-full text-sm text-muted">
          Search finds what stands in a key, principal, thing or derived key, and the provider’s references
          {foundBesides ? `; also ${foundBesides}` : ''}. From three characters on, anywhere in it.
        </p>
        {isCut ? (
          <p className="col-span-full text-sm">
            <strong className="font-medium">Not all was looked through:</strong> of keys and events the newest million,
            of calls any million. What a key or a thing begins with finds it in all of them.
          </p>
        ) : null}
        <details open={Boolean(from || to)} className="col-span-full">
          <summary className="cursor-pointer py-1 text-sm font-medium text-accent">Between two times</summary>
          <div className="mt-2 grid gap-3 sm:grid-cols-[15rem_15rem]">
            <Field
              key={`from ${from}`}
              label="Claimed from (UTC)"
              name="from"
              type="datetime-local"
              defaultValue={from ?? ''}
            />
            <Field key={`to ${to}`} label="To (UTC)" name="to" type="datetime-local" defaultValue={to ?? ''} />
          </div>
        </details>
        <div className="col-span-full flex items-center gap-3">
          <Button variant="quiet" className="max-sm:flex-1">
            Filter
          </Button>
          {Object.values({ ...query, page: 0 }).some(Boolean) ? (
            <TextLink href="/admin/keys" className="p-2">
              Clear
            </TextLink>
          ) : null}
        </div>
      </form>
      <Whose query={query} />
    </search>
  );
}

const OF_ALL = {
  tenant: undefined,
  principal: undefined,
  thing: undefined,
  stuck: undefined,
  from: undefined,
  to: undefined,
};

/** Says of whom keys are listed, or which, by what has no field in the form, or one that is folded away; and leads to those of all. */
function Whose({ query }: { query: KeysQuery }) {
  const { tenant, principal, thing, stuck, from, to } = query;
  const names = [
    stuck ? 'that are stuck' : null,
    principal ? `of the principal ${principal}` : null,
    thing ? `that hold the thing ${thing}` : null,
    tenant ? `of the tenant ${tenant}` : null,
    from || to ? `claimed ${timesOf(from, to)}` : null,
  ].filter(Boolean);
  if (names.length === 0) return null;
  return (
    <p className="mb-4 break-words">
      Only keys {names.join(', ')}. <TextLink href={listHref(query, OF_ALL)}>Those of all</TextLink>
    </p>
  );
}

/** Both times in words, of which one may be missing. */
function timesOf(from: string | undefined, to: string | undefined): string {
  const words = [from && `from ${from}`, to && `to ${to}`].filter(Boolean).join(' ');
  return `${words.replaceAll('T', ' ')} UTC`;
}
