import { vi } from 'vitest';

const RealFormData = FormData;

/** A form without a browser: a field that a person sees, a hidden one, and a captcha's. */
export class FakeForm {
  readonly localName = 'form';
  readonly isConnected = true;

  constructor(private readonly window: EventTarget) {}

  get ownerDocument() {
    return document;
  }

  readonly fields = { note: 'tea', stamp: '0', 'cf-turnstile-response': '0' };

  get elements() {
    return Object.keys(this.fields).map((name) => ({
      type: name === 'note' ? 'text' : 'hidden',
      getAttribute: () => name,
    }));
  }

  /** As browsers do it: the fields have their first values behind the event. */
  reset(): void {
    this.window.dispatchEvent(Object.defineProperty(new Event('reset'), 'target', { value: this }));
    this.fields.note = 'tea';
  }
}

/** Has the kit take it for the browser's. */
export function playForms(): void {
  vi.stubGlobal('document', {});
  vi.stubGlobal('HTMLFormElement', FakeForm);
  vi.stubGlobal(
    'FormData',
    class extends RealFormData {
      constructor(form?: FakeForm) {
        super();
        for (const [name, value] of Object.entries(form?.fields ?? {})) this.set(name, value);
      }
    },
  );
}
