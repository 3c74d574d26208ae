export type { SubmitAction } from './attempt.ts';
export { ErrorSummary, type ErrorSummaryProps } from './error-summary.tsx';
export { IdempotentForm, type IdempotentFormProps } from './idempotent-form.tsx';
export { type FieldProps, IdempotencyKeyField } from './key-field.tsx';
export { type LastSubmission, type LastSubmissionOptions, useLastSubmission } from './last-submission.ts';
export { type Message, type Messages, messages } from './messages.ts';
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
