import {
  type ComponentPropsWithRef,
  cloneElement,
  createElement,
  Fragment,
  isValidElement,
  type ReactElement,
  type ReactNode,
  Suspense,
} from 'react';
import { ConfigurationError } from '../core/errors.ts';
import type { Operation } from '../engine/operation.ts';
import { FieldError, FieldForm, FormField } from '../react/fields/form-field.tsx';
import type { RetryPolicy, SubmitAction } from '../react/idempotent-submit.ts';
import type { Messages } from '../react/labels.ts';
import { operationOf } from './action-operation.ts';
import { issueKey } from './issue-key.ts';

type FormProps = ComponentPropsWithRef<'form'>;
type OwnProps = 'action' | 'children' | 'id' | 'ref' | `on${string}`;
/** Functions do not go from the server to the browser. */
type Attributes = { [Name in keyof FormProps as Name extends OwnProps ? never : Name]: FormProps[Name] };

/** The props of `<IdempotentForm>` of `oncekit/next`. Attributes of a `<form>` go to the form. */
export interface ServerFormProps<R> extends Attributes {
  /** Made by `serverAction`, with or without `bind`. */
  action: SubmitAction<R>;
  /** Names the one thing that a person means to do once with this operation, such as the cart's id. */
  intent: string | number;
  /** Fields are looked for in elements that stand here, not in what a component of yours makes of them. */
  children: ReactNode;
  /**
   * Stands in the form's place until its key has come. Default: with Cache Components nothing stands there, and without them the
   * page waits. `false`: the page waits, which a page without a static shell may, and people without JavaScript need.
   */
  fallback?: ReactNode;
  /** Texts in place of the default ones, such as for another language. Functions need a form of your own. */
  messages?: Partial<Record<keyof Messages, string>> | undefined;
  /** As of `useIdempotentSubmit`. */
  statusUrl?: string | undefined;
  /** As of `useIdempotentSubmit`. */
  storage?: 'session' | 'local' | 'memory' | undefined;
  /** As of `useIdempotentSubmit`. */
  policy?: Partial<RetryPolicy> | undefined;
}

/**
 * A form whose submit happens once per intent, for a server component: it makes the key itself, with Cache Components within a
 * `<Suspense>` of its own, and shows what was refused in a field beside that field, with and without JavaScript. For a form of your own use
 * `issueKey` and `oncekit/react`.
 *
 * ```tsx
 * <IdempotentForm action={placeOrder} intent={cart.id}>
 *   <input name="quantity" defaultValue="1" />
 *   <button>Place order</button>
 * </IdempotentForm>
 * ```
 *
 * @throws ConfigurationError for an action that `serverAction` has not made, and where nobody acts
 */
export function IdempotentForm<R>({ fallback, ...props }: ServerFormProps<R>): ReactElement {
  const operation = operationOf(props.action);
  if (!operation) throw notOurs(props.action);
  const form = <KeyedForm {...props} operation={operation} />;
  const waits = fallback === false || (fallback === undefined && !HAS_SHELLS);
  return waits ? form : <Suspense fallback={fallback}>{form}</Suspense>;
}

/** Next's bundlers write in its configuration. What streams in behind a boundary is shown by a script, so none is set for nothing. */
const HAS_SHELLS = (process.env.__NEXT_CACHE_COMPONENTS as unknown) !== false;

async function KeyedForm<R>({
  operation,
  intent,
  children,
  ...props
}: Omit<ServerFormProps<R>, 'fallback'> & { operation: Operation<never, unknown> }) {
  const initialKey = await issueKey(operation);
  const { name } = operation;
  return createElement(
    FieldForm as typeof FieldForm<R>,
    { ...props, operation: name, intent: `${name}:${intent}`, initialKey },
    ...showErrorsAtFields(children),
  );
}

function notOurs(action: unknown): ConfigurationError {
  const existing = typeof action === 'function' ? `the function ${action.name || 'without a name'}` : String(action);
  return new ConfigurationError(
    "The action of an <IdempotentForm> is none of serverAction, so nothing is known of its operation. Export `serverAction(operation)` from a file that begins with `'use server'`, and give that to the form. For another action use the form of oncekit/react, with `initialKey={await issueKey(operation)}`.",
    { existing, expected: 'what serverAction has returned' },
  );
}

type Element = ReactElement<{ name?: unknown; type?: string; children?: ReactNode }>;

/** How often each name is still to come. The error of a group, such as of radio buttons, stands behind its last one. */
type Remaining = Map<string, number>;

const FIELDS: unknown[] = ['input', 'select', 'textarea'];
/** Types of `<input>` that nobody fills in. */
const NO_FIELDS: (string | undefined)[] = ['hidden', 'submit', 'button', 'reset', 'image'];

/**
 * The children of a form, with each field that stands in them as JSX in a client component's hands, which shows its errors.
 * A component of the user's that has a `name` gets its errors beside it. The result is for `createElement`'s arguments, so
 * that children without a key need none.
 */
export function showErrorsAtFields(children: ReactNode): ReactNode[] {
  const remaining: Remaining = new Map();
  count(children, remaining);
  return listOf(replace(children, remaining));
}

function listOf(children: ReactNode): ReactNode[] {
  return Array.isArray(children) ? children : [children];
}

function count(node: ReactNode, remaining: Remaining): void {
  if (Array.isArray(node)) {
    for (const child of node) count(child, remaining);
  } else if (isValidElement(node)) {
    const name = nameOf(node as Element);
    if (name !== undefined) remaining.set(name, (remaining.get(name) ?? 0) + 1);
    count((node as Element).props.children, remaining);
  }
}

/** `errorsAfter`: gathers the names of the fields in an element that their errors stand behind. */
function replace(node: ReactNode, remaining: Remaining, errorsAfter?: string[]): ReactNode {
  if (Array.isArray(node)) return node.map((child) => replace(child, remaining, errorsAfter));
  if (!isValidElement(node)) return node;
  const element = node as Element;
  const { key, type, props } = element;
  const name = nameOf(element);
  const isLast = name !== undefined && takeOne(remaining, name);
  if (name !== undefined && FIELDS.includes(type)) {
    if (isLast) errorsAfter?.push(name);
    return <FormField {...props} key={key} as={type as 'input'} name={name} showsError={isLast && !errorsAfter} />;
  }
  const own: string[] = [];
  const inside = replaceWithin(element, remaining, errorsAfter ?? (keepsOneText(element) ? own : undefined));
  if (isLast) (errorsAfter ?? own).push(name);
  if (own.length === 0) return inside;
  return (
    <Fragment key={key}>
      {inside}
      {own.map((each) => (
        <FieldError key={each} name={each} />
      ))}
    </Fragment>
  );
}

/** A label's text names its field, and a component may take exactly one child: no error is put into them. */
function keepsOneText({ type, props: { children } }: Element): boolean {
  if (type === 'label') return true;
  return isComponent(type) && isValidElement(children) && isComponent(children.type);
}

function isComponent(type: unknown): boolean {
  return typeof type === 'function' || typeof type === 'object';
}

function replaceWithin(element: Element, remaining: Remaining, errorsAfter: string[] | undefined): Element {
  const { children } = element.props;
  if (children === undefined || children === null || typeof children === 'function') return element;
  return cloneElement(element, undefined, ...listOf(replace(children, remaining, errorsAfter)));
}

/** The name of a field, or of a component that may hold one. Other elements of HTML have names, too: `<button>`, `<map>`. */
function nameOf({ type, props }: Element): string | undefined {
  const { name } = props;
  if (typeof name !== 'string' || name === '') return undefined;
  if (typeof type === 'string' && !FIELDS.includes(type)) return undefined;
  return NO_FIELDS.includes(props.type) ? undefined : name;
}

function takeOne(remaining: Remaining, name: string): boolean {
  const left = (remaining.get(name) ?? 1) - 1;
  remaining.set(name, left);
  return left === 0;
}
