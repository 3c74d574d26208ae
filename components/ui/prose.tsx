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
  '[&>p]:max-w-prose [&>ul]:max-w-prose [&>ol]:max-w-prose',
  '[&_h2]:mt-6 [&_h2]:text-xl [&_h2]:font-semibold [&_h2]:tracking-tight',
  '[&_h3]:mt-3 [&_h3]:text-lg [&_h3]:font-semibold',
  '[&_:is(h2,h3,h4)]:scroll-mt-6',
  '[&_:is(ul,ol)]:grid [&_:is(ul,ol)]:grid-cols-[minmax(0,1fr)] [&_:is(ul,ol)]:gap-2 [&_:is(ul,ol)]:pl-5',
  '[&_ul]:list-disc [&_ol]:list-decimal [&_li]:marker:text-muted',
  '[&_li>:is(pre,figure)]:mt-2',
  '[&_a]:font-medium [&_a]:text-accent [&_a]:underline [&_a]:underline-offset-2 [&_a:hover]:text-accent-strong',
  '[&_code]:font-mono [&_code]:text-[0.9em]',
  '[&_:not(pre)>code]:rounded [&_:not(pre)>code]:bg-sunken [&_:not(pre)>code]:px-1 [&_:not(pre)>code]:py-0.5',
  '[&_pre]:overflow-x-auto [&_pre]:rounded-xl [&_pre]:border [&_pre]:border-line [&_pre]:bg-surface [&_pre]:p-4',
  '[&_pre]:text-sm',
  '[&_figure]:min-w-0 [&_figure>pre]:rounded-t-none [&_figure>pre]:border-t-0',
  '[&_figcaption]:rounded-t-xl [&_figcaption]:border [&_figcaption]:border-line [&_figcaption]:bg-sunken',
  '[&_figcaption]:px-4 [&_figcaption]:py-2 [&_figcaption]:text-sm [&_figcaption]:text-muted',
  '[&_ins]:bg-good-surface [&_ins]:text-good [&_ins]:no-underline',
  '[&_del]:bg-bad-surface [&_del]:text-bad [&_del]:no-underline',
  '[&>div]:overflow-x-auto [&>div]:rounded-xl [&>div]:border [&>div]:border-line [&>div]:bg-surface',
  '[&_table]:w-full [&_table]:border-collapse [&_table]:text-left [&_table]:text-sm',
  '[&_th]:px-3 [&_th]:py-3 [&_th]:font-medium [&_th]:text-muted sm:[&_th]:px-4',
  '[&_td]:px-3 [&_td]:py-2.5 [&_td]:align-top sm:[&_td]:px-4',
  '[&_td]:[overflow-wrap:normal] [&_td]:min-w-24',
  '[&_td:nth-child(2)]:min-w-44 [&_td:last-child:nth-child(-n+3)]:min-w-44',
  '[&_td>code]:whitespace-nowrap',
  // A table of two columns fits a phone, so that nobody has to scroll for what its first column means.
  'max-sm:[&_td:nth-last-child(2):first-child]:[overflow-wrap:anywhere]',
  'max-sm:[&_td:nth-last-child(2):first-child>code]:whitespace-normal',
  'max-sm:[&_td:nth-child(2):last-child]:[overflow-wrap:anywhere]',
  'max-sm:[&_td:nth-child(2):last-child>code]:whitespace-normal',
  '[&_th]:align-bottom [&_th]:[overflow-wrap:normal]',
  '[&_tr:not(:last-child)>td]:border-b [&_thead_:is(th,td)]:border-b [&_td]:border-line [&_th]:border-line',
].join(' ');
