import type { Upcasts } from '../../core/older-data.ts';
import type { Scope } from '../../core/scope.ts';
import type { Fail } from '../handler.ts';
import type { ForeignCall } from './foreign-call.ts';

/** The version of a result that a step stores. An unfinished key of an older deploy has older ones. */
export interface StepVersion {
  /** Raise it when the result changes its shape. Default 1. */
  version?: number | undefined;
  /**
   * Leads a stored result of version N to version N + 1. Where one is missing or throws, the run ends in `phase_mismatch`; a
   * result of a newer version is left to the instances that know it (`unavailable`).
   */
  upcasts?: Upcasts | undefined;
}

/**
 * The argument of a phases function. The function is run again from the top after a crash: finished steps return their stored
 * result, the first unfinished one runs. So it must do the same steps in the same order each time, and keep everything
 * that differs from run to run inside them.
 */
export interface PhasesContext<Input, Tx, Reason extends string = string> {
  /** The payload as the schema has parsed it in the first run. */
  input: Input;
  /** The idempotency key, for logs and for linking rows. */
  key: string;
  /** Whose key it is. */
  scope: Scope;
  /** The arguments that were bound to an action. They count in the fingerprint. */
  context: readonly unknown[];
  /**
   * One database transaction: its writes, its result and the recovery point are committed together, once. What it
   * throws rolls it back and leaves the key resumable; `fail` in it commits what it wrote so far.
   *
   * @param name unique in the function; part of what is stored, so never rename it while keys are unfinished
   * @param stored the version of the result
   */
  atomic<R>(name: string, run: (tx: Tx) => Promise<R>, stored?: StepVersion): Promise<R>;
  /** A change in a system that our transaction cannot roll back: sent, with a derived key, so that it happens once. */
  foreign<Arguments, R>(name: string, call: ForeignCall<Arguments, R, Reason>): Promise<R>;
  /** Gives a value that a later run must not invent again: an id, a time, a price. Not inside another step. */
  capture: <T>(name: string, make: () => T | Promise<T>, stored?: StepVersion) => Promise<T>;
  /** Ends in a stored refusal, which every retry replays. `onRefused` undoes, in the transaction that stores it. */
  fail: Fail<Reason>;
  /** Aborted when the lease is lost or the caller's time is up: nothing that is done after that counts. */
  signal: AbortSignal;
  /** How many milliseconds are left for this run. */
  readonly deadlineMs: number;
}
