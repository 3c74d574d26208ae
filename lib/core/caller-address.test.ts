import { describe, expect, test } from 'vitest';
import { callerAddress } from './caller-address.ts';

const HEADER = 'x-real-ip';
const at = (said: string) => callerAddress(new Headers({ [HEADER]: said }), HEADER);

describe('where a caller is', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:51234', '192.0.2.7'],
    ['9.9.9.9, 192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['[::ffff:c000:207]:443', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]:51234', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['_hidden', '_hidden'],
    ['x'.repeat(10_000), 'x'.repeat(64)],
  ])('%s is at %s', (said, expected) => {
    expect(at(said)).toBe(expected);
  });

  test('is not known where no header is configured, none was sent, or it is empty', () => {
    const headers = new Headers({ [HEADER]: '192.0.2.7', 'x-empty': ' , ' });
    expect([undefined, 'x-other', 'x-empty'].map((header) => callerAddress(headers, header))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
