'use client';

import { IdempotentForm } from 'oncekit/react';
import { Button } from '../../ui/button.tsx';
import type { WildProps } from './wild-form.tsx';

/** A form in which nothing can be changed, and whose every click is meant. */
export function LikeForm(props: WildProps) {
  return (
    <IdempotentForm {...props} again="allow" className="grid gap-4">
      <input type="hidden" name="quantity" value="1" />
      <div>
        <Button>One more mug</Button>
      </div>
    </IdempotentForm>
  );
}
