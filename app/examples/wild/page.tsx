import { issueKey } from 'oncekit/next';
import { Example } from '../../../components/examples/example.tsx';
import { WildForms } from '../../../components/examples/wild/wild-forms.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';
import { wildOrder } from '../../../shop/lab/example-wild.ts';
import { orderInTheWild as action } from './actions.ts';

export const metadata = { title: 'Forms in the wild' };

export default function WildPage() {
  const formOf = async (what: string) => ({
    action,
    intent: `${wildOrder.name}:${what}`,
    initialKey: await issueKey(wildOrder),
  });
  return (
    <>
      <PageTitle lead="Forms beside what else is on real pages. Each orders once, and only when it is its own turn.">
        Forms in the wild
      </PageTitle>
      <WildForms formOf={formOf} link={<TextLink href="/examples">All examples</TextLink>}>
        <Example
          id="visits"
          title="Pages that are opened again"
          text="Each save leads elsewhere. The next visit means another one, also where the form has never gone."
        >
          {/* Not prefetched: the pages behind them issue keys. */}
          <ul className="grid gap-2">
            <li>
              <TextLink href="/examples/wild/shelves" prefetch={false}>
                Shelves, and a form in their layout
              </TextLink>
            </li>
            <li>
              <TextLink href="/examples/wild/modal" prefetch={false}>
                A form in an intercepted modal
              </TextLink>
            </li>
          </ul>
        </Example>
        <Example
          id="bare"
          title="Without oncekit"
          text="The same forms as they are usually written: what arrives is an order."
        >
          <TextLink href="/examples/wild/bare">Their bare twins</TextLink>
        </Example>
      </WildForms>
    </>
  );
}
