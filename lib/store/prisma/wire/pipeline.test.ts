import { expect, test, vi } from 'vitest';
import { Flight } from './pipeline.ts';

/** `pg` wraps `callback`, as it does here, and puts the end of its `query_timeout` there. */
function flown(answered: boolean) {
  const tell = vi.fn();
  const flight = new Flight([{ text: 'COMMIT', values: [], isControl: true, tell }], new Map());
  const { callback } = flight;
  const wrapped = vi.fn(callback);
  flight.callback = wrapped;
  if (answered) flight.handleCommandComplete({ text: 'COMMIT' });
  flight.handleReadyForQuery();
  return { tell, wrapped };
}

test('the end is told to pg as well, whose timer would go on otherwise', () => {
  const { tell, wrapped } = flown(true);
  expect(wrapped).toHaveBeenCalledExactlyOnceWith(undefined);
  expect(tell).toHaveBeenCalledExactlyOnceWith({ rows: [], tag: 'COMMIT' });
});

test('an end without an answer is an error of each statement that got none', () => {
  const { tell, wrapped } = flown(false);
  expect(wrapped).toHaveBeenCalledOnce();
  expect(tell).toHaveBeenCalledExactlyOnceWith({ error: expect.any(Error) });
});

test('a statement by itself is answered once it is committed, or refused at that', () => {
  const end = (refusal?: object) => {
    const tell = vi.fn();
    const flight = new Flight([{ text: 'INSERT', values: [], tell }], new Map());
    flight.handleCommandComplete({ text: 'INSERT 0 1' });
    expect(tell).not.toHaveBeenCalled();
    if (refusal) flight.handleError(refusal);
    flight.handleReadyForQuery();
    return tell;
  };
  expect(end()).toHaveBeenCalledExactlyOnceWith({ rows: [], tag: 'INSERT 0 1' });
  const refusal = { severity: 'ERROR', code: '23503' };
  expect(end(refusal)).toHaveBeenCalledExactlyOnceWith({ error: refusal });
});
