import { Notice } from '../../ui/notice.tsx';

interface Props {
  notices: Readonly<Record<string, { tone: 'good' | 'warn' | 'bad'; words: string }>>;
  name: unknown;
}

/** The outcome of the form that was sent. An address may name anything: an unknown name shows nothing. */
export function FormNotice({ notices, name }: Props) {
  const notice = typeof name === 'string' && Object.hasOwn(notices, name) ? notices[name] : undefined;
  if (!notice) return null;
  return (
    <div role={notice.tone === 'good' ? 'status' : 'alert'} data-notice tabIndex={-1} className="mb-6">
      <Notice tone={notice.tone}>{notice.words}</Notice>
    </div>
  );
}
