import type { ReactNode } from 'react';
import { Empty } from '../ui/empty.tsx';
import type { IconName } from '../ui/icon.tsx';
import { PageTitle } from '../ui/page-title.tsx';

interface Props {
  title: string;
  text: string;
  icon?: IconName;
  /** The ways on. */
  children?: ReactNode;
}

/** Stands in place of a page that could not be shown. */
export function ErrorNotice({ title, text, icon = 'signal', children }: Props) {
  return (
    <>
      <title>{title}</title>
      <PageTitle>{title}</PageTitle>
      <Empty icon={icon}>
        <p role="status" className="max-w-prose text-muted">
          {text}
        </p>
        {children ? <div className="flex flex-wrap justify-center gap-3">{children}</div> : null}
      </Empty>
    </>
  );
}

/** Nothing is known of a form. */
export const NOT_LOADED = {
  title: 'This page could not be loaded',
  text: 'The connection broke off, or we have trouble on our side. If you have just sent a form, open it again: it finds out what became of it.',
};
