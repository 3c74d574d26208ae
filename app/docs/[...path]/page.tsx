import type { Metadata } from 'next';
import { notFound } from 'next/navigation';
import { GuideFrame } from '../../../components/docs/guide-frame.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { Prose } from '../../../components/ui/prose.tsx';
import { docsPage } from '../../../shop/docs/pages.ts';

interface Props {
  params: Promise<{ path: string[] }>;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  return { title: (await docsPage((await params).path))?.title ?? 'Not found' };
}

/** A guide, the page of an error (which `type` of the problem details names), or a page of the reference. */
export default async function GuidePage({ params }: Props) {
  const { path } = await params;
  const page = await docsPage(path);
  if (!page) notFound();
  const folder = path.slice(0, -1);
  const index = await docsPage(folder);
  const above = index ? { href: `/docs/${folder.join('/')}`, name: index.title } : undefined;
  return (
    <GuideFrame above={above} sections={page.sections}>
      <PageTitle lead={page.lead}>{page.title}</PageTitle>
      <Prose html={page.html} />
    </GuideFrame>
  );
}
