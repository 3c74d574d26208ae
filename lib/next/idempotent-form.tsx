import { type ComponentPropsWithRef, createElement, type ReactElement, type ReactNode, Suspense } from 'react';
import { ConfigurationError } from '../core/errors.ts';
import type { Operation } from '../engine/operation.ts';
import { FieldForm } from '../react/fields/form-field.tsx';
import type { Messages } from '../react/labels.ts';
import type { SubmitAction } from '../react/submission/action.ts';
import type { RetryPolicy } from '../react/submission/settings.ts';
import { operationOf } from './action-operation.ts';
import { showErrorsAtFields } from './form-fields.tsx';
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
