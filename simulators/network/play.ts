import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import type { FaultRule } from './faults.ts';
import { type AskOptions, askApp, deliver, deliverPart } from './forward.ts';
import type { LateRequests } from './late.ts';
import type { LogEntry } from './request-log.ts';

/** One request on its way through the proxy. */
export interface Turn {
  req: IncomingMessage;
  res: ServerResponse;
  entry: LogEntry;
  target: URL;
  /** Answer `Connection: close`. */
  closeAfter: boolean;
  /** Aborted when the proxy closes: cuts every wait short. */
  closing: AbortSignal;
  killApp: () => void | Promise<void>;
  late: LateRequests;
}

class ClientGone extends Error {}

/** Plays a request, with a fault or without, and writes into its log entry what became of it. Never rejects. */
export async function play(turn: Turn, rule?: FaultRule): Promise<void> {
  // A client may leave at any time; what that means is decided below, not by an uncaught 'error'.
  turn.req.on('error', () => {});
  turn.res.on('error', () => {});
  try {
    await (rule ? playFault(turn, rule) : passThrough(turn));
  } catch (error) {
    settleFailure(turn, error as NodeJS.ErrnoException);
  } finally {
    turn.entry.overAt = new Date().toISOString();
  }
}

/** Asks the app, and writes down when it had the request and when it began to answer. */
async function ask({ req, target, entry }: Turn, options: AskOptions): Promise<IncomingMessage> {
  const onSent = () => {
    entry.atAppAt = new Date().toISOString();
    options.onSent?.();
  };
  const answer = await askApp(req, target, { ...options, onSent });
  entry.fromAppAt = new Date().toISOString();
  return answer;
}

async function passThrough(turn: Turn): Promise<void> {
  const left = new AbortController();
  turn.res.once('close', () => left.abort());
  await pass(turn, await ask(turn, { signal: left.signal }));
}

async function playFault(turn: Turn, rule: FaultRule): Promise<void> {
  const { req } = turn;
  const hold = () => (rule.ms > 0 ? wait(rule.ms, undefined, { signal: turn.closing }) : undefined);
  switch (rule.kind) {
    case 'lose-request':
      await hold();
      return lose(turn);
    case 'status':
      await hold();
      return refuse(turn, rule);
    case 'lose-answer': {
      const answer = await ask(turn, { body: await wholeBody(req) });
      turn.entry.status = answer.statusCode ?? null;
      await buffer(answer); // read to its end: the app has done its work and believes that it was heard
      await hold();
      return lose(turn);
    }
    case 'mid-answer': {
      const answer = await ask(turn, { body: await wholeBody(req), isPlain: true });
      turn.entry.status = answer.statusCode ?? null;
      const whole = await buffer(answer); // the app has done its work and believes that it was heard
      if (turn.res.closed) throw new ClientGone();
      await deliverPart(answer, turn.res, whole.subarray(0, Math.floor(whole.length * rule.share)));
      await hold();
      // Closed, not reset: a reset makes browsers drop what they have received and not read yet, now and then.
      return lose(turn);
    }
    case 'late-request': {
      const { entry } = turn;
      const body = await wholeBody(req);
      turn.late.hold(entry, rule.ms, async () => {
        const answer = await ask(turn, { body, isPlain: true });
        entry.status = answer.statusCode ?? null;
        return (await buffer(answer)).toString();
      });
      return lose(turn);
    }
    case 'delay': {
      const body = await wholeBody(req);
      await hold();
      // No signal: a first request that arrives after its sender gave up and tried again is what this is for.
      return pass(turn, await ask(turn, { body }));
    }
    case 'delay-answer': {
      const answer = await ask(turn, { body: await wholeBody(req) });
      const held = await buffer(answer);
      await hold();
      return pass(turn, answer, held);
    }
    case 'kill-app': {
      const body = await wholeBody(req);
      const kill = async () => {
        await hold();
        await turn.killApp();
      };
      if (rule.when === 'before') await kill();
      const onSent =
        rule.when === 'after' ? () => void kill().catch((error) => console.error(String(error))) : undefined;
      return pass(turn, await ask(turn, { body, ...(onSent ? { onSent } : {}) }));
    }
  }
}

async function pass({ res, entry, closeAfter }: Turn, answer: IncomingMessage, held?: Buffer): Promise<void> {
  entry.status = answer.statusCode ?? null;
  if (res.closed) {
    // Read it all the same: closing early would tell the app that its client has left.
    if (!held) await buffer(answer);
    throw new ClientGone();
  }
  await deliver(answer, res, closeAfter, held);
  entry.outcome = 'answered';
}

function lose({ req, entry }: Turn): void {
  entry.outcome = 'lost';
  req.socket.destroy();
}

function refuse({ req, res, entry, closeAfter }: Turn, rule: FaultRule): void {
  req.resume();
  entry.outcome = 'refused';
  entry.status = rule.status;
  const headers: Record<string, string> = { 'Content-Type': 'text/plain; charset=utf-8' };
  if (rule.retryAfter !== undefined) headers['Retry-After'] = String(rule.retryAfter);
  if (rule.location !== undefined) headers.Location = rule.location;
  if (closeAfter) headers.Connection = 'close';
  res.writeHead(rule.status, headers).end(`The fault proxy answered ${rule.status} in the app's place.\n`);
}

/** The body is wanted whole before a fault starts, so that the request outlives its client. */
async function wholeBody(req: IncomingMessage): Promise<Buffer> {
  return buffer(req).catch(() => {
    throw new ClientGone();
  });
}

function settleFailure({ req, res, entry, target }: Turn, error: NodeJS.ErrnoException): void {
  const clientLeft =
    error instanceof ClientGone || error.name === 'AbortError' || error.code === 'ERR_STREAM_PREMATURE_CLOSE';
  if (clientLeft) {
    entry.outcome = 'client-gone';
    req.socket.destroy();
  } else if (error.code === 'ECONNREFUSED' && !res.headersSent && !res.closed) {
    entry.outcome = 'app-down';
    entry.status = 502;
    req.resume();
    // Closed: the app may come back at once, and a connection that carried a half-read body must not be reused.
    res.writeHead(502, { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' });
    res.end(`The app at ${target.origin} is not running or not ready yet. Try again in a moment.\n`);
  } else {
    // The app broke off, or died: so does the client's connection, as it would without a proxy in between.
    entry.outcome = 'lost';
    req.socket.destroy();
  }
}
