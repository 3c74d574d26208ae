import type { ReactNode } from 'react';
import { Panel } from '../../ui/panel.tsx';

interface Props {
  /** The act: the words of the button that asks for it. */
  title: string;
  /** The act's consequences, before anybody confirms it. */
  words: ReactNode;
  /** The form whose button confirms it. */
  children: ReactNode;
  /** It is shown begun: what was sent of it has to be corrected. */
  isOpen?: boolean;
  /** `bad`: it can do harm. `quiet`: it is not what is wanted most often. */
  tone?: keyof typeof tones;
}

const tones = { accent: 'text-accent', quiet: 'text-ink', bad: 'text-bad' } as const;

/** An operation that is begun by one press and confirmed by another, with its consequence in words between them. */
export function Confirm({ title, words, children, isOpen, tone = 'accent' }: Props) {
  return (
    <details data-confirm open={isOpen} className="group border-t border-line py-1 first:border-0">
      <summary
        className={`flex min-h-11 cursor-pointer items-center gap-2 font-medium marker:content-none ${tones[tone]}`}
      >
        <span aria-hidden="true" className="transition-transform group-open:rotate-90">
          ›
        </span>
        {title}
      </summary>
      <div className="pb-4 pl-4">
        <div className="mb-4 grid max-w-prose gap-2 text-muted">{words}</div>
        {children}
      </div>
    </details>
  );
}

/** Several of them under one heading. */
export function ConfirmPanel({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  return (
    <Panel aria-label={title}>
      <h2 className="text-lg font-semibold">{title}</h2>
      {lead ? <div className="mt-2 max-w-prose text-muted">{lead}</div> : null}
      <div className="mt-3">{children}</div>
    </Panel>
  );
}
