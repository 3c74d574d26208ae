import { PageTitle } from '../../components/ui/page-title.tsx';
import { Panel } from '../../components/ui/panel.tsx';
import { TextLink } from '../../components/ui/text-link.tsx';

export const metadata = { title: 'Examples' };

const examples = [
  {
    href: '/examples/react-hook-form',
    name: 'react-hook-form',
    text: 'It validates in the browser, the kit sends. Works without JavaScript too.',
  },
  {
    href: '/examples/react-hook-form-rows',
    name: 'react-hook-form with rows',
    text: 'useFieldArray, a checkbox, a number, a day: its values are sent as they are.',
  },
  {
    href: '/examples/tanstack-form',
    name: 'TanStack Form',
    text: 'The same with TanStack Form. What the server refuses stands at its field.',
  },
  {
    href: '/examples/conform',
    name: 'conform',
    text: 'The same with conform, which validates by the schema. Works without JavaScript too.',
  },
  {
    href: '/examples/tanstack-query',
    name: 'TanStack Query',
    text: 'The submit is a mutation, and its answer refreshes a query. The kit alone retries.',
  },
  {
    href: '/examples/next-safe-action',
    name: 'next-safe-action',
    text: 'Its middleware decides who may; the operation inside happens once.',
  },
  {
    href: '/examples/forms',
    name: 'Forms of every kind',
    text: 'A file, several buttons, a form in steps, a form in a dialog. No library.',
  },
  {
    href: '/examples/wild',
    name: 'Forms in the wild',
    text: 'Beside what real pages have: a form in a portal, a dialog’s cancel, a translator, a footer.',
  },
  {
    href: '/examples/tabs',
    name: 'Several tabs',
    text: 'One key for all tabs of a browser: what one has sent, the others show.',
  },
  {
    href: '/examples/languages',
    name: 'Two languages',
    text: 'Every word of the form in English and in German, with the data of the answer.',
  },
];

export default function ExamplesPage() {
  return (
    <>
      <PageTitle lead="An order form with the libraries people use, and in the shapes they build. Click twice, reload, lose the answer: one order.">
        Examples
      </PageTitle>
      <ul className="grid gap-6 md:grid-cols-2">
        {examples.map(({ href, name, text }) => (
          <li key={href} className="grid">
            <Panel className="grid content-start gap-2">
              <h2 className="text-lg font-semibold">
                {/* Not prefetched: the page behind it issues a key. */}
                <TextLink href={href} prefetch={false}>
                  {name}
                </TextLink>
              </h2>
              <p className="text-muted">{text}</p>
            </Panel>
          </li>
        ))}
      </ul>
    </>
  );
}
