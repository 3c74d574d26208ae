/** The shop's events on NATS: the stream's name, and its subjects, `orders.order.paid` and so on. */
export const EVENT_STREAM = { name: 'orders', subject: 'orders', consumer: 'demo-receiver' } as const;

/** The options of `connect` for an address: it takes no user from an address. `nats://user:password@host`, `nats://token@host`, `tls://…` */
export function natsAddress(list: string) {
  const urls = list.split(',').map((each) => new URL(each.trim()));
  const { username = '', password = '', protocol } = urls[0] ?? {};
  const [user, pass] = [username, password].map(decodeURIComponent);
  return {
    servers: urls.map(({ host }) => host),
    ...(pass ? { user, pass } : {}),
    ...(user && !pass ? { token: user } : {}),
    ...(protocol === 'tls:' ? { tls: {} } : {}),
  };
}
