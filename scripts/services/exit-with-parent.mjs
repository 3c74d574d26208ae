// Preloaded (`node --import`) into the children of scripts/services/process.ts. Plain JavaScript: it must load in any Node process.
//
// A supervisor that is killed by SIGKILL cannot stop its children, and they are in process groups of their own. But the
// kernel closes its end of the pipe that is their standard input: that is the signal to leave.
import { isMainThread } from 'node:worker_threads';

// Whatever our child forks or threads inherits this preload, but not this pipe: only the direct child watches, and it
// takes its whole group along.
if (isMainThread && process.env.ONCEKIT_SUPERVISOR === String(process.ppid)) {
  process.stdin.on('error', leave).on('close', leave).on('end', leave).resume();
  process.stdin.unref?.();
}

let leaving = false;

function leave() {
  if (leaving) return;
  leaving = true;
  // However this process ends, nothing of its group stays behind.
  process.on('exit', () => process.kill(0, 'SIGKILL'));
  if (process.listenerCount('SIGTERM') === 0) process.once('SIGTERM', () => process.exit(143));
  setTimeout(() => process.exit(143), 5000).unref(); // a child that drains for ever must still end
  process.kill(0, 'SIGTERM');
}
