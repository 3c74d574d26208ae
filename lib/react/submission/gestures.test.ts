import { describe, expect, it, vi } from 'vitest';
import { type Code, MEANINGS } from '../../core/codes.ts';
import { type Outcome, refuse } from '../../core/outcome.ts';
import type { SubmitAction } from '../idempotent-submit.ts';
import { success } from './machine.fixture.ts';
import { begin, onAPage, records, status, wires } from './submission.fixture.ts';

const ANSWERED_AFTER_MS = 100;
const PAINTED_AFTER_MS = 32;
const GAPS = Array.from({ length: 13 }, (_, n) => n * 50);

/** Presses and what a browser tells of them. */
const happens = (type: string, more: object = {}) => void wires.dispatchEvent(Object.assign(new Event(type), more));

/** A form that is answered so each time; the keys that were sent; and a submit of the present values. */
function answeredBy(answer: (key: string) => Outcome<string>) {
  const keys: string[] = [];
  const action = vi.fn<SubmitAction<string>>(async (_, form) => {
    const key = String(form.get('idempotency_key'));
    keys.push(key);
    await new Promise((go) => setTimeout(go, ANSWERED_AFTER_MS));
    return answer(key);
  });
  status.mockImplementation(async () => Response.json({ state: 'absent' }));
  const form = begin(action, { policy: { attempts: 1 } as never });
  return { ...form, keys, submit: () => void form.submitByCode(new FormData()) };
}

const refusal = (code: Code) => (key: string) =>
  refuse(code, { executed: false, key, nextKey: `${key}+`, retryAfterMs: 60_000 });

describe('B2 one gesture is one submit, whatever the answer is', () => {
  onAPage();
  const codes = Object.keys(MEANINGS) as Code[];

  it.each([...codes, 'ok' as const])('%s: a second press within 600 ms', async (code) => {
    for (const gap of GAPS) {
      for (const detail of [1, 2]) {
        const answer = code === 'ok' ? (key: string) => ({ ...success, key }) : refusal(code);
        const { submit, keys, stop } = answeredBy(answer);
        const click = (count: number) => {
          happens('pointerdown');
          happens('click', { detail: count });
          submit();
        };
        click(1);
        await vi.advanceTimersByTimeAsync(gap);
        click(detail);
        await vi.advanceTimersByTimeAsync(5000);
        const isRead = gap > ANSWERED_AFTER_MS + PAINTED_AFTER_MS && detail === 1;
        expect(keys.length, `${gap} ms, detail ${detail}`).toBe(isRead && code !== 'ok' ? 2 : 1);
        stop();
        records.write('checkout:1', null);
      }
    }
  });

  it.each([...codes, 'ok' as const])('%s: Enter that is held down for two seconds', async (code) => {
    const { submit, keys } = answeredBy(code === 'ok' ? (key) => ({ ...success, key }) : refusal(code));
    for (let ms = 0; ms < 2000; ms += 33) {
      happens('keydown', { key: 'Enter', repeat: ms > 0 });
      happens('click', { detail: 0 });
      submit();
      await vi.advanceTimersByTimeAsync(33);
    }
    expect(keys).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(5000);
  });
});
