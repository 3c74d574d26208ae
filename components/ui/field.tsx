import { type ComponentProps, type ReactNode, useId } from 'react';

interface Labelled {
  label: string;
  /** The server's error; shown beside the field and read out with it. */
  errors?: readonly string[] | undefined;
}

const control =
  'h-11 w-full rounded-lg border bg-surface px-3 py-2 text-base text-ink sm:h-10 ' +
  'aria-invalid:border-bad border-strong-line';

/** A labelled input with its errors. */
export function Field({ label, errors, className = '', ...input }: ComponentProps<'input'> & Labelled) {
  const id = useFieldId(input.id);
  return (
    <Row id={id} label={label} errors={errors} className={className}>
      <input className={`${control} [&[readonly]]:bg-sunken`} {...described(id, errors)} {...input} id={id} />
    </Row>
  );
}

/** A labelled choice with its errors. */
export function SelectField({ label, errors, className = '', ...select }: ComponentProps<'select'> & Labelled) {
  const id = useFieldId(select.id);
  return (
    <Row id={id} label={label} errors={errors} className={className}>
      <select className={control} {...described(id, errors)} {...select} id={id} />
    </Row>
  );
}

/** A labelled text of several lines with its errors. */
export function TextField({ label, errors, className = '', ...text }: ComponentProps<'textarea'> & Labelled) {
  const id = useFieldId(text.id);
  return (
    <Row id={id} label={label} errors={errors} className={className}>
      <textarea className={`${control} h-auto sm:h-auto`} {...described(id, errors)} {...text} id={id} />
    </Row>
  );
}

/** Its own where a link leads to the field, such as that of an error summary. */
function useFieldId(own: string | undefined): string {
  const id = useId();
  return own ?? id;
}

function Row({
  id,
  label,
  errors,
  className,
  children,
}: Labelled & { id: string; className: string; children: ReactNode }) {
  return (
    <div className={className}>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      {children}
      {errors?.length ? (
        <p id={`${id}-errors`} className="mt-1 text-sm text-bad">
          {errors.join(' ')}
        </p>
      ) : null}
    </div>
  );
}

function described(id: string, errors: readonly string[] | undefined) {
  return errors?.length ? { 'aria-invalid': true as const, 'aria-describedby': `${id}-errors` } : {};
}
