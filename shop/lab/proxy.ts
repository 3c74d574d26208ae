/** Tells whether this is the demo, where things may be broken and the lab's routes answer. */
export function isLabOpen(): boolean {
  return Boolean(process.env.DEMO_FAULTS_DIR);
}

/**
 * Where this page is found behind the demo's fault proxy; null where the visitor has come that way already, or where no
 * proxy is known. Only for people on the demo's own machine: the proxy listens there alone.
 */
export function proxiedOrigin(host: string | null): string | null {
  const port = process.env.DEMO_PROXY_PORT;
  const asked = `http://${host ?? ''}`;
  if (!port || !URL.canParse(asked)) return null;
  const url = new URL(asked);
  if (!['localhost', '127.0.0.1'].includes(url.hostname) || url.port === port) return null;
  url.port = port;
  return url.origin;
}
