import type { ReactNode } from 'react';
import { Icon, type IconName } from './icon.tsx';

/** A place with nothing to show yet: why, and what to do about it. */
export function Empty({ icon, children }: { icon: IconName; children: ReactNode }) {
  return (
    <div className="grid justify-items-center gap-4 rounded-xl border border-line bg-surface px-5 py-12 text-center shadow-raise sm:py-16">
      <span className="rounded-full bg-sunken p-4 text-muted">
        <Icon name={icon} className="size-7" />
      </span>
      {children}
    </div>
  );
}
