import { type ComponentProps, type ReactNode, useId } from 'react';

interface Labelled {
  label: string;
  /** What the server refused; shown beside the field and read out with it. */
  errors?: readonly string[] | undefined;
}

const control =
  'h-11 w-full rounded-lg border bg-surface px-3 py-2 text-base text-ink sm:h-10 ' +
  'aria-invalid:border-bad border-strong-line';

/** A labelled input with its errors. */
export function Field({ label, errors, className = '', ...input }: ComponentProps<'input'> & Labelled) {
  const id = useId();
  return (
    <Row id={id} label={label} errors={errors} className={className}>
      <input id={id} className={control} {...described(id, errors)} {...input} />
    </Row>
  );
}

/** A labelled choice with its errors. */
export function SelectField({ label, errors, className = '', ...select }: ComponentProps<'select'> & Labelled) {
  const id = useId();
  return (
    <Row id={id} label={label} errors={errors} className={className}>
      <select id={id} className={control} {...described(id, errors)} {...select} />
    </Row>
  );
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
