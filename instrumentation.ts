/**
 * Runs once, before the server answers anything: an app without its secrets does not start. Better than one that
 * starts and fails at the first order. And what is counted must be counted from the first call on.
 */
export async function register() {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return;
  const { refuseToStartIncomplete } = await import('./shop/start.ts');
  refuseToStartIncomplete();
  const { startTelemetry } = await import('./shop/telemetry.ts');
  startTelemetry('oncekit-shop');
}
