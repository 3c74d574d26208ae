import { complaints } from './env.ts';
import { messagingComplaints } from './messaging-settings.ts';

/** Ends the process with a sentence for each setting that is missing. */
export function refuseToStartIncomplete(): void {
  const found = [...complaints(process.env), ...messagingComplaints(process.env)];
  if (found.length === 0) return;
  console.error(['The shop cannot start:', ...found.map((each) => `  ${each}`)].join('\n'));
  console.error('`npm run demo` makes all of them by itself.');
  process.exit(1);
}
