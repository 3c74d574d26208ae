import type { Backoff } from '../core/backoff.ts';
import { ConfigurationError } from '../core/errors.ts';
import type { OutgoingEvent, Publisher } from './publisher.ts';

/** A receiver of events. */
export interface Destination {
  /** Stored with each delivery, so never rename it while deliveries may be waiting. */
  name: string;
  publisher: Publisher;
  /** Types that it gets; left out: all. Asked when an event is enqueued. */
  types?: readonly string[];
  /** How long one attempt may take, at most two thirds of the lease. Default 10,000 ms. */
  timeoutMs?: number;
  /** How often an event is tried before it is a dead letter. Default 20, which takes 4 to 8 hours. */
  attempts?: number;
  /** Default: from 1 s, doubled up to 1 h, half of it at random. */
  backoff?: Backoff;
  /** A dead letter's effect on its aggregate: `block` it until a person looks (default), or `skip` the event. */
  onDead?: 'block' | 'skip' | ((event: OutgoingEvent) => 'block' | 'skip');
}

/** A destination, checked and filled in. */
export interface Route {
  name: string;
  publisher: Publisher;
  timeoutMs: number;
  attempts: number;
  backoff: Backoff;
  onDead: (event: OutgoingEvent) => 'block' | 'skip';
}

/** @throws ConfigurationError for two of one name, and for one that cannot be used */
export function routesOf(destinations: readonly Destination[]): Route[] {
  const routes = destinations.map(routeOf);
  const names = routes.map(({ name }) => name);
  if (new Set(names).size === names.length) return routes;
  throw new ConfigurationError('Two destinations have one name.', { existing: names, expected: 'a name for each' });
}

function routeOf({
  name,
  publisher,
  timeoutMs = 10_000,
  attempts = 20,
  backoff,
  onDead = 'block',
}: Destination): Route {
  if (!/^[a-z][a-z0-9_.-]{0,99}$/.test(name)) {
    throw new ConfigurationError('A destination needs a short name.', {
      existing: name,
      expected: 'a lower case letter, then up to 99 of a-z 0-9 . _ -',
    });
  }
  if (!(Number.isInteger(attempts) && attempts >= 1 && timeoutMs > 0)) {
    throw new ConfigurationError(`The destination ${name} cannot be used.`, {
      existing: { attempts, timeoutMs },
      expected: 'at least one attempt, and time for it',
    });
  }
  if (backoff && !(backoff.baseMs >= 1 && backoff.capMs >= backoff.baseMs)) {
    throw new ConfigurationError(`The backoff of ${name} would use up all attempts at once.`, {
      existing: backoff,
      expected: 'a baseMs from 1 on, and a capMs that is no less',
    });
  }
  const judge = typeof onDead === 'function' ? onDead : () => onDead;
  return {
    name,
    publisher,
    timeoutMs,
    attempts,
    backoff: backoff ?? { baseMs: 1000, capMs: 3_600_000 },
    onDead: judge,
  };
}
