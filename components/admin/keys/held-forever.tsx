import type { KeyPage } from 'oncekit/admin';
import { Panel } from '../../ui/panel.tsx';

/** Names the things that stay done although their keys are deleted. Nothing where there are none. */
export function HeldForever({ things }: { things: KeyPage['heldForever'] }) {
  if (!things) return null;
  return (
    <Panel aria-label="Done for ever" className="mb-4">
      <p>Done for ever; the key that did it was deleted after its retention:</p>
      <ul className="mt-2 grid gap-1">
        {things.map(({ tenant, operation, thing }) => (
          <li key={`${tenant} ${operation} ${thing}`} className="break-words">
            <code className="font-mono text-sm break-all select-all">{thing}</code>{' '}
            <span className="text-muted">
              by {operation} of the tenant {tenant}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
