import { issueKey } from 'oncekit/next';
import type { ReactNode } from 'react';
import { Example } from '../../../../components/examples/example.tsx';
import { WildForm } from '../../../../components/examples/wild/wild-form.tsx';
import { WildSection } from '../../../../components/examples/wild/wild-section.tsx';
import { Button } from '../../../../components/ui/button.tsx';
import { passingOrder } from '../../../../shop/lab/example-visits.ts';
import { orderInPassing, saveWithoutKit } from '../actions.ts';

export const metadata = { title: 'Shelves' };

/** Its form is still there when the page within it gives way to another one. */
export default async function ShelvesLayout({ children }: { children: ReactNode }) {
  return (
    <WildSection
      title="Shelves"
      lead="Pages that are opened again, and a form that stays while they change. Each save leads to the list."
    >
      <div className="grid items-start gap-6 md:grid-cols-2">
        {children}
        <Example
          id="passing"
          title="A form in a layout"
          text="It is still there behind the redirect, and can be used again."
        >
          <WildForm
            action={orderInPassing}
            intent={`${passingOrder.name}:layout`}
            initialKey={await issueKey(passingOrder)}
          />
        </Example>
        <Example id="passing-bare" title="In a layout, without oncekit" text="The same form, as it is usually written.">
          <WildForm action={saveWithoutKit} buttons={<Button variant="quiet">Order without oncekit</Button>} />
        </Example>
      </div>
    </WildSection>
  );
}
