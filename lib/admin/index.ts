export {
  type Admin,
  createAdmin,
  type KeyDetail,
  type KeyEvent,
  type KeyFilter,
  type KeyPage,
  type KeySummary,
} from './admin.ts';
export type { RedactedAnswer, Shape } from './redact.ts';
