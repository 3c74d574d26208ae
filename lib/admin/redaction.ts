import { isDecimal, isPlainObject } from '../core/data.ts';
import { tryOr } from '../core/errors.ts';
import type { Executed } from '../core/outcome.ts';
import { decodeAnswer } from '../engine/answer.ts';
import type { Step } from '../store/leases.ts';

/** The shape of a value, without its content: the names of its fields and the types of their values. */
export type Shape = string | { [name: string]: Shape };

/** A stored answer as an admin sees it. */
export type RedactedAnswer =
  | { kind: 'data'; shape: Shape }
  /** `executed`: what it says of the effect; undefined where it was stored with no word of that. */
  | { kind: 'refusal'; reason: string; status: number; executed?: Executed | undefined; shape: Shape }
  | { kind: 'response'; status: number }
  | { kind: 'redirect' }
  | { kind: 'erased' }
  | { kind: 'unreadable' };

const MAX_DEPTH = 4;
const MAX_FIELDS = 30;

/**
 * The shape of a stored answer. No value leaves: a name, an address or a token may stand in any field, whatever the
 * field is called. Of a refusal, its reason and status are shown, which are words of the code and not of a person;
 * its message and a redirect's target may hold anything.
 */
export function redactAnswer(stored: string | null): RedactedAnswer {
  if (stored === null) return { kind: 'erased' };
  // A row that cannot be read must not hide the rest of its page.
  return tryOr(() => withoutValues(decodeAnswer(stored)), { kind: 'unreadable' });
}

function withoutValues(answer: ReturnType<typeof decodeAnswer>): RedactedAnswer {
  switch (answer.kind) {
    case 'data':
      return { kind: 'data', shape: shapeOf(answer.data) };
    case 'response':
      return { kind: 'response', status: answer.response.status };
    case 'refusal': {
      const { reason, status, executed, data } = answer;
      return { kind: 'refusal', reason, status, ...(executed !== undefined && { executed }), shape: shapeOf(data) };
    }
    case 'redirect':
      return { kind: 'redirect' };
  }
}

/** The shape of any value. The names in a Map or a Set are data, so they are only counted. */
export function shapeOf(value: unknown, depth = 0): Shape {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  if (Array.isArray(value)) return `list of ${value.length}`;
  if (value instanceof Map || value instanceof Set) return `${value.constructor.name} of ${value.size}`;
  if (isDecimal(value)) return 'Decimal';
  if (!isPlainObject(value)) return value.constructor.name;
  if (depth === MAX_DEPTH) return 'object';
  const fields = Object.entries(value);
  const shown = fields.slice(0, MAX_FIELDS).map(([name, each]) => [name, shapeOf(each, depth + 1)] as const);
  const more = fields.length - shown.length;
  return Object.fromEntries(more > 0 ? [...shown, ['…', `${more} more`]] : shown);
}

/** One step of an operation in phases, as an admin may see it. */
export interface PhaseView
  extends Pick<
    Step,
    'name' | 'position' | 'kind' | 'state' | 'sends' | 'notExecuted' | 'derivedKey' | 'firstSentAt' | 'finishedAt'
  > {
  /** A person's finding about it; null again once a run has gone on with that. */
  verdict: Step['verdict'];
  /**
   * What the provider knows the call as: by its receipt; before it is done, by the person who said that it succeeded, or by what was
   * heard as its proof. No secret. It stays when the key settles, and is erased with the answer.
   */
  reference: string | null;
  /** How much it was, by its receipt: as long. */
  amount: string | null;
  /** What made it known that it is done: the answer to a send, a look-up, or a reference that a person gave or that was heard. */
  knownBy: Step['knownBy'];
  /** The shape of the stored result; null while there is none, and once the key has settled with no person to look at it. */
  result: Shape | null;
}

/** A step without what was sent and what was answered. */
export function phaseView(step: Step): PhaseView {
  const result = step.result === null ? null : redactAnswer(step.result);
  return {
    ...pick(step, 'name', 'position', 'kind', 'state', 'sends', 'notExecuted', 'derivedKey', 'firstSentAt'),
    ...pick(step, 'finishedAt', 'verdict', 'reference', 'amount', 'knownBy'),
    result: result && ('shape' in result ? result.shape : result.kind),
  };
}

/** The fields that leave, by name, so that a column that is added is not shown because nobody thought of it. */
export function pick<Row, Name extends keyof Row>(row: Row, ...names: Name[]): Pick<Row, Name> {
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Row, Name>;
}
