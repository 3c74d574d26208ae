import { PageTitle } from '../../components/ui/page-title.tsx';
import { Panel } from '../../components/ui/panel.tsx';
import { TextLink } from '../../components/ui/text-link.tsx';

export const metadata = { title: 'Docs' };

const parts = [
  {
    href: '/docs/errors',
    name: 'Errors',
    text: 'Each refusal: whether it was executed, and what to do next.',
  },
  {
    href: '/examples',
    name: 'Examples',
    text: 'Order forms with the libraries people use, and in the shapes they build.',
  },
  {
    href: '/api/openapi.json',
    name: 'The API',
    text: 'Orders and refunds over HTTP, as an OpenAPI document.',
  },
];

export default function DocsPage() {
  return (
    <>
      <PageTitle lead="The guides lie in the repository, in docs/. These parts the demo shows itself.">Docs</PageTitle>
      <ul className="grid gap-6 md:grid-cols-3">
        {parts.map(({ href, name, text }) => (
          <li key={href} className="grid">
            <Panel className="grid content-start gap-2">
              <h2 className="text-lg font-semibold">
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
