export type { Verdict } from '../store/leases.ts';
export {
  type Admin,
  type AdminOptions,
  createAdmin,
  type KeyDetail,
  type KeyEvent,
  type KeyFilter,
  type KeyPage,
  type KeySummary,
} from './admin.ts';
export type { Operated, SeenKey } from './operate.ts';
export type { PhaseView } from './phase-view.ts';
export type { RedactedAnswer, Shape } from './redact.ts';
