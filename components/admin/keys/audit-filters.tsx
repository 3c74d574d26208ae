import type { AuditQuery } from '../../../shop/admin/query.ts';
import { Button } from '../../ui/button.tsx';
import { Field, SelectField } from '../../ui/field.tsx';
import { auditWords } from './audit-table.tsx';

/** A GET form, as for keys: by whom, what, and to which key. */
export function AuditFilters({ query }: { query: AuditQuery }) {
  const { actor, type, key, page: _, ...whose } = query;
  const hidden = Object.entries(whose).filter(([, value]) => value);
  // The app, or a newer version, may have written others.
  const types = type && !(type in auditWords) ? [...Object.keys(auditWords), type] : Object.keys(auditWords);
  return (
    <search>
      <form
        action="/admin/keys/audit"
        className="mb-4 grid items-end gap-3 sm:grid-cols-2 lg:grid-cols-[12rem_20rem_minmax(0,1fr)_auto]"
      >
        {hidden.map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <Field key={`actor ${actor}`} label="Who" name="actor" autoComplete="off" defaultValue={actor ?? ''} />
        <SelectField key={`type ${type}`} label="What" name="type" defaultValue={type ?? ''}>
          <option value="">Anything</option>
          {types.map((each) => (
            <option key={each} value={each}>
              {auditWords[each] ?? each}
            </option>
          ))}
        </SelectField>
        <Field key={`key ${key}`} label="Key, in full" name="key" autoComplete="off" defaultValue={key ?? ''} />
        <Button variant="quiet">Filter</Button>
      </form>
    </search>
  );
}
