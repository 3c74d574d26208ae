'use client';

import { type LastSubmission, useLastSubmission } from 'oncekit/react';
import { Button, buttonClass } from '../ui/button.tsx';
import { ErrorNotice, NOT_LOADED } from './error-notice.tsx';

interface Words {
  title: string;
  text: string;
}

const WORDS: Record<LastSubmission['status'], Words> = {
  none: NOT_LOADED,
  asking: { title: 'One moment', text: 'The connection broke off. We are finding out what became of what you sent.' },
  leaving: { title: 'One moment', text: 'The connection broke off. Taking you to what you sent.' },
  succeeded: {
    title: 'It went through',
    text: 'What you sent was done, once. Only the page that shows it did not arrive.',
  },
  atForm: {
    title: 'This page could not be loaded',
    text: 'What you sent is never done twice. Open its form again to see what became of it.',
  },
  unreachable: {
    title: 'We cannot be reached right now',
    text: 'We do not know yet what became of what you sent, but it is never done twice. As soon as you are online, this page finds out.',
  },
};

/** Says what became of the form that was sent last, and leads there. */
export function LostPage() {
  const { status, href, tryAgain } = useLastSubmission();
  const { title, text } = WORDS[status];
  const isBusy = status === 'asking' || status === 'leaving';
  const icon = status === 'succeeded' ? 'check' : isBusy ? 'clock' : 'signal';
  return (
    <ErrorNotice title={title} text={text} icon={icon}>
      {isBusy ? null : <Ways status={status} href={href} tryAgain={tryAgain} />}
    </ErrorNotice>
  );
}

/** One primary way on. Addresses are loaded whole: the router has just failed to show a page. */
function Ways({ status, href, tryAgain }: Pick<LastSubmission, 'status' | 'href' | 'tryAgain'>) {
  const way = status === 'succeeded' ? 'Show it' : status === 'atForm' ? 'Open the form' : null;
  if (!way || !href) {
    return (
      <Button type="button" onClick={tryAgain}>
        Try again
      </Button>
    );
  }
  return (
    <>
      <a href={href} className={buttonClass()}>
        {way}
      </a>
      <Button type="button" variant="quiet" onClick={tryAgain}>
        Load this page again
      </Button>
    </>
  );
}
