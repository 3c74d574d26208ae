import type { RefusedForm } from '../../shop/session/refused-form.ts';
import { Notice } from '../ui/notice.tsx';
import { RefreshPlain } from './refresh-plain.tsx';

/** Without JavaScript a refused form is a page anew, which opens at its top: so that says it, and leads to the fields. */
export function RefusedAtTop({ message, fieldErrors = {}, isInDoubt, isOpen }: RefusedForm) {
  return (
    <div role="alert" data-in-doubt={isInDoubt || undefined} className="mb-6 hidden noscript:block">
      <Notice tone={isInDoubt ? 'warn' : 'bad'}>
        <p>{message}</p>
        <ul className="grid gap-1 [&_a]:underline [&_a]:underline-offset-2">
          {Object.entries<string[] | undefined>(fieldErrors).map(([name, words]) => (
            <li key={name}>{name ? <a href={`#${name}`}>{words?.join(' ')}</a> : words?.join(' ')}</li>
          ))}
        </ul>
        {isInDoubt && !isOpen ? <p>This page looks again by itself.</p> : null}
      </Notice>
      {isInDoubt && !isOpen ? <RefreshPlain /> : null}
    </div>
  );
}
