import { PageTitle } from '../../components/ui/page-title.tsx';
import { Panel } from '../../components/ui/panel.tsx';
import { TextLink } from '../../components/ui/text-link.tsx';
import { docsIndex } from '../../shop/docs/pages.ts';

export const metadata = { title: 'Docs' };

/** Pages of the demo besides the guides. */
const demo = {
  name: 'In this demo',
  guides: [
    { href: '/lab', name: 'Fault lab', text: 'the same form with and without the kit, under the same fault' },
    { href: '/examples', name: 'Example forms', text: 'with the libraries people use, and in the shapes they build' },
    { href: '/api/openapi.json', name: 'The shop’s API', text: 'orders and refunds over HTTP, as an OpenAPI document' },
  ],
};

export default async function DocsPage() {
  const { title, lead, groups } = await docsIndex();
  return (
    <>
      <PageTitle lead={lead}>{title}</PageTitle>
      <div className="md:columns-2 md:gap-6">
        {[...groups, demo].map(({ name, guides }) => (
          <Panel key={name} className="mb-6 grid content-start gap-4 break-inside-avoid">
            <h2 className="text-lg font-semibold tracking-tight">{name}</h2>
            <ul className="grid gap-3">
              {guides.map((guide) => (
                <li key={guide.href}>
                  <TextLink href={guide.href} prefetch={false}>
                    {guide.name}
                  </TextLink>
                  {guide.text ? <p className="text-sm text-muted">{guide.text}</p> : null}
                </li>
              ))}
            </ul>
          </Panel>
        ))}
      </div>
    </>
  );
}
