import { describe, expect, it, vi } from 'vitest';
import { KEY_FIELD } from '../../core/fields.ts';
import type { SubmitAction } from '../idempotent-submit.ts';
import { FakeForm, playForms } from './fake-form.fixture.ts';
import { success } from './machine.fixture.ts';
import { begin, isGone, isShown, onAPage, online, wires } from './submission.fixture.ts';

describe('what is called off before it goes out', () => {
  onAPage();

  it.each(['by an event', 'by another submit'])(
    'counts for nothing: what was done before it is asked about again, %s',
    async (how) => {
      playForms();
      const element = new FakeForm(wires);
      const action = vi.fn<SubmitAction<string>>(async (_, form) => ({ ...success, key: String(form.get(KEY_FIELD)) }));
      const form = begin(action);
      const click = async () => {
        void form.submit(new FormData(element as never), element as never);
        await isShown();
      };
      await click();
      expect(form.state().status).toBe('hasSucceeded');
      isGone();
      element.fields.note = 'coffee';
      form.dispatch({ type: 'edited' });
      await click();
      expect(form.state()).toMatchObject({ status: 'offline', key: 'k2' });
      element.fields.note = 'tea';
      if (how === 'by an event') form.dispatch({ type: 'edited' });
      online.onLine = true;
      await click();
      expect(form.state()).toMatchObject({ status: 'idle', canSendAgain: true });
      expect(action).toHaveBeenCalledTimes(1);
      form.stop();
    },
  );
});
