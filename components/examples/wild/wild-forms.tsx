import type { ReactNode } from 'react';
import { SelectField } from '../../ui/field.tsx';
import { Example } from '../example.tsx';
import { CancelForm } from './cancel-form.tsx';
import { ChangingField } from './changing-field.tsx';
import { LikeForm } from './like-form.tsx';
import { OptimisticForm } from './optimistic-form.tsx';
import { PortalForm } from './portal-form.tsx';
import { RadixForm } from './radix-form.tsx';
import { TiedForm } from './tied-form.tsx';
import { TranslateButton } from './translate-button.tsx';
import { WildForm, type WildProps } from './wild-form.tsx';

interface Props {
  /** The action of a form, and with the kit its intent and key. */
  formOf: (what: string) => Promise<WildProps>;
  /** Further examples. */
  children?: ReactNode;
  /** A link, above what is taller than a window. */
  link: ReactNode;
}

/** Forms beside what else is on real pages, with the kit or without. */
export async function WildForms({ formOf, children, link }: Props) {
  return (
    <>
      <div className="grid items-start gap-6 md:grid-cols-2">
        <Example
          id="portal"
          title="A form in a portal"
          text="The address is a form of its own: Enter in it saves the address."
        >
          <PortalForm {...(await formOf('portal'))} />
        </Example>
        <Example
          id="cancel"
          title="A dialog’s cancel"
          text="A button with formmethod=“dialog” closes, and orders nothing."
        >
          <CancelForm {...(await formOf('cancel'))} />
        </Example>
        <Example
          id="optimistic"
          title="React’s own states"
          text="useFormStatus and useOptimistic, until the first attempt has ended."
        >
          <OptimisticForm {...(await formOf('optimistic'))} />
        </Example>
        <Example
          id="translated"
          title="A translator"
          text="It puts each text of the page into elements of its own, as the one of a browser does."
        >
          <TranslateButton />
          <WildForm {...(await formOf('translated'))} />
        </Example>
        <Example
          id="radix"
          title="Controls of a library"
          text="Radix, as shadcn has it. What is chosen makes no “input” event, and some of it is in a portal."
        >
          <RadixForm {...(await formOf('radix'))} />
        </Example>
        <Example
          id="tied"
          title="Fields outside of the form"
          text="They are tied to it by their attribute “form”, and their events pass it by."
        >
          <TiedForm {...(await formOf('tied'))} />
        </Example>
        <Example
          id="captcha"
          title="A captcha"
          text="A script renews its token all the time. That makes no other order of it."
        >
          <WildForm {...(await formOf('captcha'))}>
            <ChangingField name="cf-turnstile-response" />
          </WildForm>
        </Example>
        <Example
          id="stamp"
          title="A stamp"
          text="A hidden field that changes by itself, under a name that nobody knows."
        >
          <WildForm {...(await formOf('stamp'))}>
            <ChangingField name="stamp" />
          </WildForm>
        </Example>
        <Example
          id="declined"
          title="A declined card"
          text="One gesture is one attempt, however long a finger stays on Enter."
        >
          <WildForm {...(await formOf('declined'))}>
            <SelectField label="Card" name="card" defaultValue="declined">
              <option value="good">Good</option>
              <option value="declined">Declined</option>
            </SelectField>
          </WildForm>
        </Example>
        <Example id="like" title="One more" text="A button alone, for which each click counts, as for a like.">
          <LikeForm {...(await formOf('like'))} />
        </Example>
        {children}
      </div>
      {/* Taller than a window, so that the form behind it is out of sight. */}
      <p className="mt-6 min-h-[100vh]">{link}</p>
      <Example id="footer" title="A form at the page’s end" text="What it finds out by itself does not move the page.">
        <WildForm {...(await formOf('footer'))} />
      </Example>
    </>
  );
}
