'use client';

import { useSyncExternalStore } from 'react';
import { Button } from '../../ui/button.tsx';
import { RadixFields } from './radix-fields.tsx';
import { KitOrBareForm, type WildProps } from './wild-form.tsx';

const subscribe = () => () => {};

/** An order by controls that are not the platform's, and that take the values of hidden inputs along. */
export function RadixForm(props: WildProps) {
  // In HTML, the styles of the library's hidden inputs would be refused by the page's policy.
  const isInBrowser = useSyncExternalStore(
    subscribe,
    () => true,
    () => false,
  );
  return (
    <KitOrBareForm {...props}>
      <div className="min-h-68">{isInBrowser && <RadixFields />}</div>
      <div>
        <Button>Order</Button>
      </div>
    </KitOrBareForm>
  );
}
