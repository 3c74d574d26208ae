import { issueKey } from 'oncekit/next';
import { Example } from '../../../components/examples/example.tsx';
import { CancelForm } from '../../../components/examples/wild/cancel-form.tsx';
import { ChangingField } from '../../../components/examples/wild/changing-field.tsx';
import { LikeForm } from '../../../components/examples/wild/like-form.tsx';
import { OptimisticForm } from '../../../components/examples/wild/optimistic-form.tsx';
import { PortalForm } from '../../../components/examples/wild/portal-form.tsx';
import { RadixForm } from '../../../components/examples/wild/radix-form.tsx';
import { TiedForm } from '../../../components/examples/wild/tied-form.tsx';
import { TranslateButton } from '../../../components/examples/wild/translate-button.tsx';
import { WildForm } from '../../../components/examples/wild/wild-form.tsx';
import { SelectField } from '../../../components/ui/field.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';
import { wildOrder } from '../../../shop/lab/example-forms.ts';
import { orderInTheWild as action } from './actions.ts';

export const metadata = { title: 'Forms in the wild' };

export default async function WildPage() {
  const form = async (what: string) => ({
    action,
    intent: `${wildOrder.name}:${what}`,
    initialKey: await issueKey(wildOrder),
  });
  return (
    <>
      <PageTitle lead="Forms beside what else is on real pages. Each orders once, and only when it is its own turn.">
        Forms in the wild
      </PageTitle>
      <div className="grid items-start gap-6 md:grid-cols-2">
        <Example
          id="portal"
          title="A form in a portal"
          text="The address is a form of its own: Enter in it saves the address."
        >
          <PortalForm {...(await form('portal'))} />
        </Example>
        <Example
          id="cancel"
          title="A dialog’s cancel"
          text="A button with formmethod=“dialog” closes, and orders nothing."
        >
          <CancelForm {...(await form('cancel'))} />
        </Example>
        <Example
          id="optimistic"
          title="React’s own states"
          text="useFormStatus and useOptimistic, until the first attempt has ended."
        >
          <OptimisticForm {...(await form('optimistic'))} />
        </Example>
        <Example
          id="translated"
          title="A translator"
          text="It puts each text of the page into elements of its own, as the one of a browser does."
        >
          <TranslateButton />
          <WildForm {...(await form('translated'))} />
        </Example>
        <Example
          id="radix"
          title="Controls of a library"
          text="Radix, as shadcn has it. What is chosen makes no “input” event, and some of it is in a portal."
        >
          <RadixForm {...(await form('radix'))} />
        </Example>
        <Example
          id="tied"
          title="Fields outside of the form"
          text="They are tied to it by their attribute “form”, and their events pass it by."
        >
          <TiedForm {...(await form('tied'))} />
        </Example>
        <Example
          id="captcha"
          title="A captcha"
          text="A script renews its token all the time. That makes no other order of it."
        >
          <WildForm {...(await form('captcha'))}>
            <ChangingField name="cf-turnstile-response" />
          </WildForm>
        </Example>
        <Example
          id="stamp"
          title="A stamp"
          text="A hidden field that changes by itself, under a name that nobody knows."
        >
          <WildForm {...(await form('stamp'))}>
            <ChangingField name="stamp" />
          </WildForm>
        </Example>
        <Example
          id="declined"
          title="A declined card"
          text="One gesture is one attempt, however long a finger stays on Enter."
        >
          <WildForm {...(await form('declined'))}>
            <SelectField label="Card" name="card" defaultValue="declined">
              <option value="good">One that is good</option>
              <option value="declined">One that is declined</option>
            </SelectField>
          </WildForm>
        </Example>
        <Example id="like" title="One more" text="A button alone, for which each click counts, as for a like.">
          <LikeForm {...(await form('like'))} />
        </Example>
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
      </div>
      {/* Taller than a window, so that the form behind it is out of sight. */}
      <p className="mt-6 min-h-[100vh]">
        <TextLink href="/examples">All examples</TextLink>
      </p>
      <Example id="footer" title="A form at the page’s end" text="What it finds out by itself does not move the page.">
        <WildForm {...(await form('footer'))} />
      </Example>
    </>
  );
}
