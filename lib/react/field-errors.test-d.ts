import type { DeepKeys, FormApi, GlobalFormValidationError } from '@tanstack/react-form';
import { createIdempotency, type Outcome } from 'oncekit';
import { serverAction } from 'oncekit/next';
import {
  bracketErrors,
  type FieldErrors,
  type FieldPath,
  nestErrors,
  type SubmitAction,
  useIdempotentSubmit,
} from 'oncekit/react';
import type { FieldErrors as HookErrors, Path } from 'react-hook-form';
import { useForm } from 'react-hook-form';
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../shop/db.ts';

const schema = z.object({
  name: z.string(),
  express: z.boolean(),
  deliverOn: z.date().optional(),
  tags: z.array(z.enum(['gift', 'fragile'])),
  to: z.object({ city: z.string().nullable() }).optional(),
  lines: z.array(z.object({ sku: z.string(), quantity: z.number(), notes: z.array(z.object({ text: z.string() })) })),
});
type Order = z.input<typeof schema>;

const operation = createIdempotency({ prisma: createClient('') })
  .operation({ name: 'order', schema })
  .handler(async ({ input }) => ({ count: input.lines.length }));
const placeOrder = serverAction(operation);
const options = { intent: 'order:1', initialKey: 'k' };

describe('the paths of a schema', () => {
  test('are those of its fields, lists and objects, with indices in dots or brackets', () => {
    expectTypeOf<'name' | 'to' | 'to.city' | 'tags.0' | 'lines.12.sku' | 'lines[0].notes[1].text'>().toExtend<
      FieldPath<Order>
    >();
    expectTypeOf<`lines.${number}.sku`>().toExtend<FieldPath<Order>>();
    expectTypeOf<'nam'>().not.toExtend<FieldPath<Order>>();
    expectTypeOf<'lines.sku'>().not.toExtend<FieldPath<Order>>();
    expectTypeOf<'lines.0.skuu'>().not.toExtend<FieldPath<Order>>();
    expectTypeOf<'deliverOn.getTime'>().not.toExtend<FieldPath<Order>>();
  });

  test('are those of react-hook-form and of TanStack Form', () => {
    expectTypeOf<Path<Order>>().toExtend<FieldPath<Order>>();
    expectTypeOf<DeepKeys<Order>>().toExtend<FieldPath<Order>>();
  });

  test('are any text where the input is not known', () => {
    expectTypeOf<FieldPath<never>>().toEqualTypeOf<string>();
    expectTypeOf<FieldPath<unknown>>().toEqualTypeOf<string>();
    expectTypeOf<Record<string, string[]>>().toExtend<FieldErrors>();
  });

  test('end where a schema contains itself', () => {
    interface Folder {
      name: string;
      folders: Folder[];
    }
    expectTypeOf<'folders.0.folders.1.name'>().toExtend<FieldPath<Folder>>();
    expectTypeOf<'folders.0.nam'>().not.toExtend<FieldPath<Folder>>();
  });
});

describe('an answer', () => {
  test('has errors by the paths of the schema', () => {
    const { result } = useIdempotentSubmit(placeOrder, options);
    if (!result || result.ok) return;
    expectTypeOf(result.fieldErrors?.['lines.0.sku']).toEqualTypeOf<string[] | undefined>();
    expectTypeOf(result.fieldErrors?.name).toEqualTypeOf<string[] | undefined>();
    expectTypeOf(result.fieldErrors?.['']).toEqualTypeOf<string[] | undefined>();
    // @ts-expect-error: no such field
    result.fieldErrors?.nam;
    // @ts-expect-error: no such field
    result.fieldErrors?.['lines.0.skuu'];
  });

  test('fits where the input does not matter', () => {
    expectTypeOf<Outcome<{ count: number }, string, Order>>().toExtend<Outcome<{ count: number }>>();
  });
});

describe('what is sent', () => {
  test('is a form or the schema’s input', () => {
    const { execute, executeAsync } = useIdempotentSubmit(placeOrder, options);
    execute(new FormData());
    execute({ name: 'Ann', express: true, tags: [], lines: [{ sku: 'tea', quantity: 1, notes: [] }] });
    expectTypeOf(executeAsync).returns.resolves.toEqualTypeOf<Outcome<{ count: number }, string, Order> | null>();
    // @ts-expect-error: a quantity is a number
    execute({ name: 'Ann', express: true, tags: [], lines: [{ sku: 'tea', quantity: '1', notes: [] }] });
    // @ts-expect-error: `express` is missing
    execute({ name: 'Ann', tags: [], lines: [] });
  });

  test('is a form alone where the action takes nothing else', () => {
    const action: SubmitAction<string> = async () => ({ ok: true, data: '', replayed: false, key: '', nextKey: '' });
    const { execute } = useIdempotentSubmit(action, options);
    execute(new FormData());
    // @ts-expect-error: it takes forms
    execute({ name: 'Ann' });
  });
});

describe('errors of fields fit, without a cast,', () => {
  const submit = useIdempotentSubmit(placeOrder, options);

  test('react-hook-form', () => {
    useForm<Order>({ errors: nestErrors(submit.result) });
    expectTypeOf(nestErrors(submit.result)).toExtend<HookErrors<Order> | undefined>();
  });

  test('TanStack Form', () => {
    type Form = FormApi<
      Order,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined
    >;
    expectTypeOf(bracketErrors(submit.result)).toExtend<GlobalFormValidationError<Order> | undefined>();
    expectTypeOf({ onSubmit: bracketErrors(submit.result) }).toExtend<Parameters<Form['setErrorMap']>[0]>();
  });
});
