import { notFound } from 'next/navigation';
import { issueKey } from 'oncekit/next';
import { Example } from '../../../../../components/examples/example.tsx';
import { WildForm } from '../../../../../components/examples/wild/wild-form.tsx';
import { Button } from '../../../../../components/ui/button.tsx';
import { TextLink } from '../../../../../components/ui/text-link.tsx';
import { SHELVES, SHELVES_PAGE, shelfOrder } from '../../../../../shop/lab/example-visits.ts';
import { saveShelf, saveWithoutKit } from '../../actions.ts';

interface Props {
  params: Promise<{ shelf: string }>;
}

export default async function ShelfPage({ params }: Props) {
  const { shelf } = await params;
  if (!SHELVES.some((each) => each === shelf)) notFound();
  return (
    <>
      <Example
        id="shelf"
        title={`The ${shelf}`}
        text="Its intent is the same at each visit, and each visit is another one."
      >
        <WildForm
          action={saveShelf}
          intent={`${shelfOrder.name}:${shelf}`}
          initialKey={await issueKey(shelfOrder)}
          buttons={<Button>Save</Button>}
        >
          <input type="hidden" name="shelf" value={shelf} />
        </WildForm>
        <p>
          <TextLink href={SHELVES_PAGE} prefetch={false}>
            All shelves
          </TextLink>
        </p>
      </Example>
      <Example id="shelf-bare" title={`The ${shelf}, without oncekit`} text="The same form, as it is usually written.">
        <WildForm action={saveWithoutKit} buttons={<Button variant="quiet">Order without oncekit</Button>} />
      </Example>
    </>
  );
}
