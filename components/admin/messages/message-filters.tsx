import type { MessagesQuery } from '../../../shop/admin/messages-query.ts';
import { Button } from '../../ui/button.tsx';
import { SelectField } from '../../ui/field.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { messageStateName, messageStates } from './message-state.tsx';

/** A GET form, as for keys: what is filtered stands in the address. */
export function MessageFilters({ query, peers }: { query: MessagesQuery; peers: readonly string[] }) {
  const { box, state, peer } = query;
  return (
    <search>
      <form
        action="/admin/messages"
        className="mb-4 grid items-end gap-3 sm:grid-cols-[9rem_14rem_auto] sm:justify-start"
      >
        <input type="hidden" name="box" value={box} />
        <SelectField key={`state ${box} ${state}`} label="State" name="state" defaultValue={state ?? ''}>
          <option value="">Any</option>
          {messageStates[box].map((each) => (
            <option key={each} value={each}>
              {messageStateName(each)}
            </option>
          ))}
        </SelectField>
        <SelectField
          key={`peer ${box} ${peer}`}
          label={box === 'outbox' ? 'Destination' : 'Source'}
          name="peer"
          defaultValue={peer ?? ''}
        >
          <option value="">Any</option>
          {peers.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        <div className="flex items-center gap-3">
          <Button variant="quiet" className="max-sm:flex-1">
            Filter
          </Button>
          {state || peer ? (
            <TextLink href={`/admin/messages?box=${box}`} className="p-2">
              Clear
            </TextLink>
          ) : null}
        </div>
      </form>
    </search>
  );
}
