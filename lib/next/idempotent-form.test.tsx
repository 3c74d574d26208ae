import { Fragment, isValidElement, type ReactElement, type ReactNode } from 'react';
import { expect, test } from 'vitest';
import { FieldError, FormField } from '../react/fields/form-field.tsx';
import { showErrorsAtFields } from './idempotent-form.tsx';

function Picker(_: { name?: string; children?: ReactNode }) {
  return null;
}

/** The tree as text: a field as `[name]`, with `!` where it shows its error; an error of its own as `!name`. */
function outline(node: ReactNode): string {
  if (Array.isArray(node)) return node.map(outline).filter(Boolean).join(' ');
  if (!isValidElement(node)) return typeof node === 'string' ? node : '';
  const { type, props } = node as ReactElement<{ name: string; showsError: boolean; children?: ReactNode }>;
  if (type === FormField) return `[${props.name}${props.showsError ? '!' : ''}]`;
  if (type === FieldError) return `!${props.name}`;
  if (type === Fragment) return outline(props.children);
  const tag = typeof type === 'string' ? type : (type as { name: string }).name;
  return `${tag}(${outline(props.children)})`;
}

test.each<[string, ReactNode, string]>([
  ['a field', <input key="1" name="a" />, '[a!]'],
  [
    'one in an element',
    <p key="1">
      <textarea name="a" />
    </p>,
    'p([a!])',
  ],
  [
    'one in a label, whose text is its name',
    <label key="1">
      A <input name="a" />
    </label>,
    'label(A  [a]) !a',
  ],
  [
    'radio buttons, at their last one',
    <p key="1">
      <input type="radio" name="a" />
      <input type="radio" name="a" />
    </p>,
    'p([a] [a!])',
  ],
  [
    'radio buttons in labels',
    <p key="1">
      <label>
        <input type="radio" name="a" />
      </label>
      <label>
        <input type="radio" name="a" />
      </label>
    </p>,
    'p(label([a]) label([a]) !a)',
  ],
  ['a list', [1, 2].map((n) => <input key={n} name={`lines[${n}]`} />), '[lines[1]!] [lines[2]!]'],
  [
    'a component with a name',
    <p key="1">
      B <Picker name="a" />
    </p>,
    'p(B  Picker() !a)',
  ],
  [
    'one that stands alone in another',
    <Picker key="1">
      <Picker name="a" />
    </Picker>,
    'Picker(Picker()) !a',
  ],
  [
    'no field',
    <p key="1">
      <input type="hidden" name="a" />
      <input />
      <button type="submit" name="b">
        C
      </button>
    </p>,
    'p(input() input() button(C))',
  ],
])('%s', (_, node, expected) => {
  expect(outline(showErrorsAtFields(node))).toBe(expected);
});

test('what a field is made of is handed on, its key too', () => {
  const [field] = showErrorsAtFields(<select key="k" name="a" multiple defaultValue={['1']} className="wide" />);
  expect(field).toMatchObject({
    key: 'k',
    props: { as: 'select', multiple: true, defaultValue: ['1'], className: 'wide' },
  });
});
