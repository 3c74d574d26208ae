import type { KeyPage } from 'oncekit/admin';
import { Notice } from '../../ui/notice.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { withQuery } from '../shared/addresses.ts';

/**
 * Says how many keys have ended and may have done at the provider what that does not say: nobody goes on with them.
 *
 * @param pages flagged keys, by the state that they have ended in
 */
export function SettledNotices({ pages }: { pages: readonly KeyPage[] }) {
  const found = pages.filter(({ rows }) => rows.length > 0);
  if (found.length === 0) return null;
  return (
    <div role="alert" className="mb-8 grid gap-2">
      {found.map(({ rows, hasMore }) => {
        const state = rows[0]?.state;
        const [keys, have, them] = rows.length === 1 ? ['key', 'has', 'it'] : ['keys', 'have', 'them'];
        const ended = state === 'failed' ? 'in a refusal, though' : `as ${state}, and`;
        return (
          <Notice key={state} tone="bad">
            {rows.length}
            {hasMore ? ' or more' : ''} {keys} {have} ended {ended} a call of {them} may stand otherwise at the
            provider. Nobody goes on with {them} but a person:{' '}
            <TextLink href={withQuery('/admin/keys', { stuck: '1', state })} prefetch={false}>
              see to {them}
            </TextLink>
            .
          </Notice>
        );
      })}
    </div>
  );
}
