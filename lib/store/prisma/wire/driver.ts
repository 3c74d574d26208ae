/** A pool of `pg`'s, by its shape: the kit imports none. */
export interface PoolLike {
  readonly options: object;
  readonly ending?: boolean;
  /** The class of its connections. */
  Client?: new (config: {
    connectionTimeoutMillis?: number;
  }) => object;
  connect(...args: never[]): unknown;
  query(config: never): unknown;
  on(event: 'acquire' | 'release', listener: (...args: never[]) => void): unknown;
}

/** A connection as `pg`'s pool gives it. */
export interface ClientLike {
  /** `pg`'s pipeline mode, which takes no queries of others. */
  readonly pipeline?: boolean;
  /** The server process that the connection was told that it has. `pg-native` names none, and takes no queries of others. */
  readonly processID?: number | null;
  query(...args: never[]): unknown;
  release(broken?: unknown): void;
  on(event: 'error' | 'notice', listener: (said: object) => void): unknown;
}
