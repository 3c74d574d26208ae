import { PageTitle } from '../../../components/ui/page-title.tsx';
import { Prose } from '../../../components/ui/prose.tsx';
import { errorIndex } from '../../../lib/demo/docs.ts';

export const metadata = { title: 'Errors' };

export default async function ErrorsPage() {
  const { title, lead, html } = await errorIndex();
  return (
    <>
      <PageTitle lead={lead}>{title}</PageTitle>
      <Prose html={html} />
    </>
  );
}
