import { expect, test, vi } from 'vitest';
import { PipelinedQuery } from './pipeline.ts';

/** `pg` wraps `callback`, as it does here, and puts the end of its `query_timeout` there. */
function answeredBy(answered: boolean) {
  const onResult = vi.fn();
  const query = new PipelinedQuery([{ text: 'COMMIT', values: [], isControl: true, onResult }], new Map());
  const { callback } = query;
  const wrapped = vi.fn(callback);
  query.callback = wrapped;
  if (answered) query.handleCommandComplete({ text: 'COMMIT' });
  query.handleReadyForQuery();
  return { onResult, wrapped };
}

test('the end is told to pg as well, whose timer would go on otherwise', () => {
  const { onResult, wrapped } = answeredBy(true);
  expect(wrapped).toHaveBeenCalledExactlyOnceWith(undefined);
  expect(onResult).toHaveBeenCalledExactlyOnceWith({ rows: [], tag: 'COMMIT' });
});

test('an end without an answer is an error of each statement that got none', () => {
  const { onResult, wrapped } = answeredBy(false);
  expect(wrapped).toHaveBeenCalledOnce();
  expect(onResult).toHaveBeenCalledExactlyOnceWith({ error: expect.any(Error) });
});

test('a statement by itself is answered once it is committed, or refused at that', () => {
  const end = (refusal?: object) => {
    const onResult = vi.fn();
    const query = new PipelinedQuery([{ text: 'INSERT', values: [], onResult }], new Map());
    query.handleCommandComplete({ text: 'INSERT 0 1' });
    expect(onResult).not.toHaveBeenCalled();
    if (refusal) query.handleError(refusal);
    query.handleReadyForQuery();
    return onResult;
  };
  expect(end()).toHaveBeenCalledExactlyOnceWith({ rows: [], tag: 'INSERT 0 1' });
  const refusal = { severity: 'ERROR', code: '23503' };
  expect(end(refusal)).toHaveBeenCalledExactlyOnceWith({ error: refusal });
});
