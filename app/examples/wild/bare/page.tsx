import { WildForms } from '../../../../components/examples/wild/wild-forms.tsx';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { orderWildWithoutKit as action } from '../actions.ts';

export const metadata = { title: 'Forms in the wild, without oncekit' };

export default function BarePage() {
  return (
    <>
      <PageTitle lead="The same forms as they are usually written: what arrives is an order, and not all that their texts promise holds.">
        Forms in the wild, without oncekit
      </PageTitle>
      <WildForms
        formOf={async () => ({ action })}
        link={
          <TextLink href="/examples/wild" prefetch={false}>
            Forms in the wild
          </TextLink>
        }
      />
    </>
  );
}
