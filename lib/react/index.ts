export type { SubmitAction } from './attempt.ts';
export { IdempotentForm, type IdempotentFormProps } from './idempotent-form.tsx';
export { type FieldProps, IdempotencyKeyField } from './key-field.tsx';
export { defaultMessages, type Messages } from './messages.ts';
export type { RetryPolicy, Transition } from './settings.ts';
export type { Status } from './state.ts';
export type { KeyRecord, KeyStorage } from './storage.ts';
export { SubmitStatus, type SubmitStatusProps } from './submit-status.tsx';
export {
  type FormProps,
  type IdempotentSubmit,
  type IdempotentSubmitOptions,
  useIdempotentSubmit,
} from './use-idempotent-submit.ts';
