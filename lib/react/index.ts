export { IdempotentForm, type IdempotentFormProps } from './idempotent-form.tsx';
export { type FieldProps, IdempotencyKeyField } from './key-field.tsx';
export { type Message, type Messages, messages } from './labels.ts';
export { type LastSubmission, type LastSubmissionOptions, useLastSubmission } from './last-submission.ts';
export { ErrorSummary, type ErrorSummaryProps } from './recovery/error-summary.tsx';
export type { SubmitAction } from './submission/action.ts';
export type { RetryPolicy, Transition } from './submission/settings.ts';
export type { Status } from './submission/state.ts';
export type { KeyRecord, KeyStorage } from './submission/storage.ts';
export { SubmitStatus, type SubmitStatusProps } from './submit-status.tsx';
export {
  type FormProps,
  type IdempotentSubmit,
  type IdempotentSubmitOptions,
  useIdempotentSubmit,
} from './use-idempotent-submit.ts';
