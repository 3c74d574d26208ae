export type { FieldErrors, FieldPath } from '../core/standard-schema.ts';
export { type BracketErrors, bracketErrors, type FieldMessage, type NestedErrors, nestErrors } from './field-errors.ts';
export { IdempotentForm, type IdempotentFormProps } from './idempotent-form.tsx';
export type {
  FieldProps,
  FormProps,
  IdempotentSubmit,
  IdempotentSubmitOptions,
  RetryPolicy,
  SubmitAction,
  Transition,
  ValuesAction,
} from './idempotent-submit.ts';
export { IdempotencyKeyField } from './key-field.tsx';
export type { Message, Messages } from './labels.ts';
export { type LastSubmission, type LastSubmissionOptions, useLastSubmission } from './last-submission.ts';
export { ErrorSummary, type ErrorSummaryProps } from './recovery/error-summary.tsx';
export { messages } from './recovery/later-status.ts';
export type { Status } from './submission/state.ts';
export type { KeyRecord, KeyStorage } from './submission/storage.ts';
export { SubmitStatus, type SubmitStatusProps } from './submit-status.tsx';
export { useIdempotentSubmit } from './use-idempotent-submit.ts';
