import { KEY_FIELD } from '../core/fields.ts';
import { complaints } from './submission/development.ts';

/** Mistakes that a form finds in development, said once each on both consoles and in the page. Production never loads them. */

const said = new Set<string>();

/** The page's own note, as errors on a console are seen only by a person who opens it. */
function complain(words: string): void {
  if (said.has(words)) return;
  said.add(words);
  complaints.push(words);
  console.error(`[oncekit] ${words}`);
  if (typeof document === 'undefined') return;
  const note = document.createElement('p');
  note.setAttribute('role', 'alert');
  note.dataset.oncekit = 'complaint';
  note.style.cssText =
    'position:fixed;z-index:2147483647;inset:auto 1rem 1rem;margin:0;padding:.75rem 1rem;background:#7f1d1d;color:#fff;font:14px/1.5 system-ui;border-radius:.5rem';
  note.textContent = `oncekit: ${words}`;
  note.title = 'Click to close';
  note.onclick = note.remove;
  document.body.append(note);
}

/** The page works all the same, as long as JavaScript runs. */
export function complainOfMissingField(form: HTMLFormElement, operation: string): void {
  if (new FormData(form).has(KEY_FIELD)) return;
  complain(
    `The form of ${operation} has no field for its key, so nothing protects it before and without JavaScript. Put <IdempotencyKeyField {...submit.fieldProps} /> into it.`,
  );
}

/** `executeAsync` resolves with the first answer. */
export function complainOfRepeat(operation: string): void {
  complain(
    `The form of ${operation} was submitted once more by code, with nothing changed and nothing that a person has done since its answer. It was not sent again. Submit it where a person does something, with other values, or give the form again="allow".`,
  );
}

/** `url`: with the key, which is left out of the words. */
export function complainOfNoStatusRoute(url: string): void {
  const place = url.slice(0, url.lastIndexOf('/'));
  complain(
    `The status route answers 404 at ${place}, so a form cannot learn what became of its key when an answer is lost. Mount statusRoute(operations) in app/api/idempotency/[operation]/[key]/route.ts with the operation ${decodeURIComponent(place.slice(place.lastIndexOf('/') + 1))} in its list, or give the form the statusUrl where it is.`,
  );
}
