'use client';

import { useState, useSyncExternalStore } from 'react';
import { Button } from './button.tsx';

/** Text to take elsewhere, whole: selected by one click, and copied by a button where the browser can. */
export function CopyText({ text, name }: { text: string; name: string }) {
  return (
    <span className="inline-flex max-w-full flex-wrap items-center gap-x-3 gap-y-1 align-middle">
      <code className="min-w-0 font-mono text-sm break-all select-all">{text}</code>
      <CopyButton text={text} name={name} />
    </span>
  );
}

/** Copies a text to the clipboard, and says so. Not there without JavaScript, nor where the page is not served over HTTPS. */
export function CopyButton({ text, name }: { text: string; name: string }) {
  const [copied, setCopied] = useState<'yes' | 'no'>();
  const isAble = useSyncExternalStore(neverChanges, hasClipboard, () => false);
  if (!isAble) return null;
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setCopied('yes'),
      () => setCopied('no'),
    );
  return (
    <>
      <Button
        type="button"
        variant="quiet"
        aria-label={`Copy ${name}`}
        onClick={copy}
        onBlur={() => setCopied(undefined)}
      >
        Copy
      </Button>
      <span aria-live="polite" className="text-sm text-muted empty:hidden">
        {copied === 'yes' ? 'Copied' : null}
        {copied === 'no' ? 'Not copied: select it' : null}
      </span>
    </>
  );
}

const neverChanges = () => () => {};
const hasClipboard = () => navigator.clipboard !== undefined;
