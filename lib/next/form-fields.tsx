import { cloneElement, Fragment, isValidElement, type ReactElement, type ReactNode } from 'react';
import { FieldError, FormField } from '../react/fields/form-field.tsx';

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
