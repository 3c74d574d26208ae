import type { ComponentProps, ReactNode } from 'react';
import { Button } from './button.tsx';

interface Props extends ComponentProps<typeof Button> {
  /** Something of this page is on its way. Not what is only asked about: without JavaScript it would look so for ever. */
  isBusy: boolean;
  /** The words of the button while it is at work. */
  busyWords: ReactNode;
}

/** A button that says that it is at work, in words and by a line that runs. It stays focusable. */
export function BusyButton({ isBusy, busyWords, children, ...props }: Props) {
  return (
    <Button {...props} aria-busy={isBusy}>
      {isBusy ? busyWords : children}
    </Button>
  );
}
