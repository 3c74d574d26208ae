import type { ReactNode } from 'react';
import { PageTitle } from '../ui/page-title.tsx';
import { Panel } from '../ui/panel.tsx';
import { TextLink } from '../ui/text-link.tsx';

interface Props {
  title: string;
  lead: ReactNode;
  /** The parts and their tasks; one sentence each. */
  parts: readonly string[];
  children: ReactNode;
}

/** An example: what it shows, its form, and which half does what. */
export function ExampleLayout({ title, lead, parts, children }: Props) {
  return (
    <>
      <PageTitle lead={lead}>{title}</PageTitle>
      <div className="grid items-start gap-6 md:grid-cols-2">
        <Panel aria-label="The form" className="grid gap-4">
          {children}
        </Panel>
        <section aria-labelledby="parts-title" className="grid gap-4">
          <h2 id="parts-title" className="text-lg font-semibold">
            Who does what
          </h2>
          <ul className="grid max-w-prose list-disc gap-2 pl-5 marker:text-muted">
            {parts.map((part) => (
              <li key={part}>{part}</li>
            ))}
          </ul>
          <p>
            <TextLink href="/examples">All examples</TextLink>
          </p>
        </section>
      </div>
    </>
  );
}
