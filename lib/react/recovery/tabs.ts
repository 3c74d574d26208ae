/**
 * Receives the keys that other tabs have seen settled, or have given up. A message is a hint: its receiver asks the
 * server. Without a channel (old browsers, simulated ones) a tab knows of others what their shared storage says.
 */
export function openTabs(onEnd: (intent: string, key: string) => void): BroadcastChannel | undefined {
  if (!window.BroadcastChannel) return;
  const channel = new BroadcastChannel('oncekit');
  channel.onmessage = ({ data: [intent, key] }) => onEnd(intent, key);
  return channel;
}
