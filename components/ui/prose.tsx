/** Text that was written in Markdown. What is wide scrolls by itself; the page never does. */
export function Prose({ html }: { html: string }) {
  return (
    <div
      className={style}
      // biome-ignore lint/security/noDangerouslySetInnerHtml: it comes from files of this repository
      dangerouslySetInnerHTML={{ __html: html }}
    />
  );
}

const style = [
  'grid grid-cols-[minmax(0,1fr)] gap-4 [overflow-wrap:anywhere]',
  '[&>p]:max-w-prose [&>ul]:max-w-prose',
  '[&_h2]:mt-4 [&_h2]:text-xl [&_h2]:font-semibold [&_h2]:tracking-tight',
  '[&_ul]:grid [&_ul]:list-disc [&_ul]:gap-2 [&_ul]:pl-5 [&_ul]:marker:text-muted',
  '[&_a]:font-medium [&_a]:text-accent [&_a]:underline [&_a]:underline-offset-2 [&_a:hover]:text-accent-strong',
  '[&_code]:font-mono [&_code]:text-[0.9em]',
  '[&_:not(pre)>code]:rounded [&_:not(pre)>code]:bg-sunken [&_:not(pre)>code]:px-1 [&_:not(pre)>code]:py-0.5',
  '[&_pre]:overflow-x-auto [&_pre]:rounded-xl [&_pre]:border [&_pre]:border-line [&_pre]:bg-surface [&_pre]:p-4',
  '[&_pre]:text-sm',
  '[&>div]:overflow-x-auto [&>div]:rounded-xl [&>div]:border [&>div]:border-line [&>div]:bg-surface',
  '[&_table]:w-full [&_table]:border-collapse [&_table]:text-left [&_table]:text-sm',
  '[&_th]:px-3 [&_th]:py-3 [&_th]:font-medium [&_th]:text-muted sm:[&_th]:px-4',
  '[&_td]:px-3 [&_td]:py-2.5 [&_td]:align-top sm:[&_td]:px-4',
  '[&_td]:[overflow-wrap:normal] [&_td:last-child]:min-w-64',
  '[&_td:not(:last-child)]:whitespace-nowrap [&_th]:whitespace-nowrap',
  '[&_tr:not(:last-child)>td]:border-b [&_th]:border-b [&_td]:border-line [&_th]:border-line',
].join(' ');
