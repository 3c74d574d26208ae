import { TABLES, type TableName } from './tables.ts';

/** Tables whose rows are written once, and numbered by a sequence or not. */
const NUMBERED: readonly TableName[] = ['idempotency_events', 'idempotency_audit', 'message_events'];
const UNCHANGED: readonly TableName[] = [...NUMBERED, 'outbox_stops'];

/** What the kit's statements need of one of its tables, for an app and its worker. */
export const rightsOn = (table: TableName): readonly string[] =>
  UNCHANGED.includes(table) ? ['SELECT', 'INSERT', 'DELETE'] : ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/**
 * The statements that give a role all that the kit needs of its tables and their sequences, and no more. Of their schema the role
 * needs USAGE.
 */
export function grantsTo(role: string, tables: readonly TableName[] = TABLES): string[] {
  const grant = (of: readonly TableName[]) =>
    of[0] === undefined ? [] : [`GRANT ${rightsOn(of[0]).join(', ')} ON ${of.join(', ')} TO ${role}`];
  const sequences = tables.filter((table) => NUMBERED.includes(table)).map((table) => `${table}_id_seq`);
  return [
    ...grant(tables.filter((table) => !UNCHANGED.includes(table))),
    ...grant(tables.filter((table) => UNCHANGED.includes(table))),
    `GRANT USAGE ON SEQUENCE ${sequences.join(', ')} TO ${role}`,
  ];
}
