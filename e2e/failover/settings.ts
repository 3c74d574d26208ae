import type { Setting } from './cluster.ts';

const SYNCHRONOUS = ['synchronous_standby_names=*'];

/** How a primary's commits reach its standby, and what that promises. */
export const SETTINGS: Setting[] = [
  { name: 'synchronous', flags: SYNCHRONOUS, isDurable: true },
  { name: 'asynchronous', flags: [], isDurable: false },
  { name: 'remote_apply', flags: [...SYNCHRONOUS, 'synchronous_commit=remote_apply'], isDurable: true },
];
