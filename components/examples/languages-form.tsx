'use client';

import {
  ErrorSummary,
  IdempotencyKeyField,
  type Messages,
  type SubmitAction,
  SubmitStatus,
  useIdempotentSubmit,
} from 'oncekit/react';
import { useMemo, useState } from 'react';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import { type Choice, GoodsFields } from '../lab/goods-fields.tsx';
import { Button } from '../ui/button.tsx';
import { GERMAN, GERMAN_ERRORS, GERMAN_GOODS } from './german-messages.ts';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  products: readonly Choice[];
}

/** Single keys are replaced; what is not named keeps the kit's words. */
const ENGLISH: Partial<Messages<PlacedOrder>> = {
  hasSucceeded: (outcome) => (outcome?.ok ? `Ordered. Your number is ${outcome.data.id}.` : 'Ordered.'),
};

const LANGUAGES = {
  en: {
    ...{ label: 'English', button: 'Place order', summary: undefined },
    ...{ messages: ENGLISH, goods: undefined, errors: undefined },
  },
  de: {
    ...{ label: 'Deutsch', button: 'Bestellen', summary: 'Was noch fehlt' },
    ...{ messages: GERMAN, goods: GERMAN_GOODS, errors: GERMAN_ERRORS },
  },
};
type Language = keyof typeof LANGUAGES;

/** An order form whose words change with the language. */
export function LanguagesForm({ action, initialKey, products }: Props) {
  const [language, setLanguage] = useState<Language>('en');
  const submit = useIdempotentSubmit(action, { intent: 'example.languages:demo', initialKey });
  const { button, summary, messages, goods, errors } = LANGUAGES[language];
  const { result } = submit;
  // Made once for each answer: what is new to the summary moves the focus.
  const refused = useMemo(() => {
    if (result?.ok !== false) return null;
    const wrong = Object.entries(result.fieldErrors ?? {}).map(([name, words]) => [name, errors?.[name] ?? words]);
    return { ...result, fieldErrors: Object.fromEntries(wrong) as Record<string, string[]> };
  }, [result, errors]);
  return (
    <>
      {/* Outside of the form: another language is no other order. */}
      <fieldset className="flex gap-4">
        <legend className="text-sm text-muted">Language, Sprache</legend>
        {Object.entries(LANGUAGES).map(([name, { label }]) => (
          <label key={name} lang={name} className="flex items-center gap-2">
            <input type="radio" checked={name === language} onChange={() => setLanguage(name as Language)} /> {label}
          </label>
        ))}
      </fieldset>
      <form {...submit.formProps} noValidate lang={language} className="grid gap-4">
        <IdempotencyKeyField {...submit.fieldProps} />
        <GoodsFields products={products} errors={refused?.fieldErrors} values={refused?.values} words={goods} />
        <Button>{button}</Button>
        <SubmitStatus submit={submit} messages={messages} />
        <ErrorSummary submit={{ ...submit, result: refused ?? result }} label={summary} className="error-summary" />
      </form>
    </>
  );
}
