import type { Metadata } from 'next';
import { notFound } from 'next/navigation';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { Prose } from '../../../../components/ui/prose.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { errorCodes, errorPage } from '../../../../lib/demo/docs.ts';

interface Props {
  params: Promise<{ code: string }>;
}

export async function generateStaticParams(): Promise<{ code: string }[]> {
  return (await errorCodes()).map((code) => ({ code }));
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  return { title: (await params).code };
}

/** The page that `type` of the problem details names. */
export default async function ErrorPage({ params }: Props) {
  const page = await errorPage((await params).code);
  if (!page) notFound();
  return (
    <>
      <p className="mb-2">
        <TextLink href="/docs/errors">All errors</TextLink>
      </p>
      <PageTitle lead={page.lead}>{page.title}</PageTitle>
      <Prose html={page.html} />
    </>
  );
}
