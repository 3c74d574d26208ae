import { expect, test } from 'vitest';
import { planLines } from './plan.ts';

const chromium = {
  program: 'chromium',
  variable: 'C_PATH',
  how: 'for all',
  isLeftOut: false,
} as const;
const nats = { program: 'nats', variable: 'N_PATH', how: 'into .data', isLeftOut: false } as const;

test('each step has its minutes as this machine needs them, and all have their sum', () => {
  const steps = [
    { what: 'long', minutes: 4.1 },
    { what: 'short', minutes: 0.2 },
  ];
  const programs = [{ ...chromium, path: '/usr/bin/chromium' }];
  expect(planLines({ slowness: 2, steps, programs })).toEqual([
    'The steps of this run, about 9 min:',
    '  long, about 8 min',
    '  short, under 1 min',
    'The programs that it needs:',
    '  Chromium: /usr/bin/chromium',
  ]);
});

test('minutes that nobody has measured are not told', () => {
  const steps = [{ what: 'one', minutes: 1 }, { what: 'other' }];
  expect(planLines({ slowness: 1, steps, programs: [] }).slice(0, 3)).toEqual([
    'The steps of this run:',
    '  one, about 1 min',
    '  other',
  ]);
  expect(planLines({ slowness: 1.5, steps, total: 20, programs: [] })[0]).toBe('The steps of this run, about 30 min:');
});

test('what will be installed is said, and how to have it not', () => {
  const programs = [
    { ...chromium, path: undefined },
    { ...nats, path: undefined },
  ];
  expect(planLines({ slowness: 1, steps: [], programs }).slice(2)).toEqual([
    '  Chromium: missing, will be installed: for all',
    '  NATS server: missing, will be installed: into .data',
    expect.stringContaining('To have nothing installed, press Ctrl-C'),
    '  C_PATH, N_PATH to a program that is there, or WITHOUT=chromium,nats to skip what needs it.',
  ]);
  const one = [
    { ...chromium, path: undefined, isLeftOut: true },
    { ...nats, path: undefined },
  ];
  const lines = planLines({ slowness: 1, steps: [], programs: one });
  expect(lines).toContain('  Chromium: left out, as WITHOUT says');
  expect(lines.at(-1), 'and stays so').toContain('WITHOUT=chromium,nats');
});
