import type { Setting } from './cluster.ts';

const SYNCHRONOUS = ['synchronous_standby_names=*'];

/** How a primary's commits reach its standby, and what that promises. */
export const SETTINGS: Setting[] = [
  { name: 'synchronous', flags: SYNCHRONOUS, isDurable: true },
  { name: 'asynchronous', flags: [], isDurable: false },
  // The server waits for nobody, but where an operation asks for it.
  {
    name: 'replicated',
    flags: [...SYNCHRONOUS, 'synchronous_commit=local'],
    isDurable: true,
    durability: 'replicated',
  },
];
