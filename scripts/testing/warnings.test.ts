import { deprecate } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ignoreWarning } from './warnings.ts';

test('a warning that is ignored is not printed until the test is over, and every other is', () => {
  const printed = vi.spyOn(process, 'emitWarning').mockReturnValue();
  // Called last: Vitest calls them in the reverse of their order.
  onTestFinished(() => {
    const isBack = process.emitWarning === printed;
    printed.mockRestore();
    expect(isBack).toBe(true);
  });
  ignoreWarning(/^Old, and/);
  deprecate(() => {}, 'Old, and known.')();
  process.emitWarning(new Error('Another.'));
  deprecate(() => {}, 'Old as well.')();
  expect(printed.mock.calls.map(([warning]) => String(warning))).toEqual(['Error: Another.', 'Old as well.']);
});
