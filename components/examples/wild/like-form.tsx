'use client';

import { Button } from '../../ui/button.tsx';
import { KitOrBareForm, type WildProps } from './wild-form.tsx';

/** A form in which nothing can be changed, and whose every click is meant. */
export function LikeForm(props: WildProps) {
  return (
    <KitOrBareForm {...props} again="allow">
      <input type="hidden" name="quantity" value="1" />
      <div>
        <Button>One more mug</Button>
      </div>
    </KitOrBareForm>
  );
}
