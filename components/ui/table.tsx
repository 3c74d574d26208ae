import type { ComponentProps } from 'react';

/** A table that scrolls by itself where the page is too narrow. Focusable, so that the keyboard can scroll it too. */
export function Table({ label, children, ...props }: ComponentProps<'table'> & { label: string }) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      className="overflow-x-auto rounded-xl border border-line bg-surface"
    >
      <table className="w-full border-collapse text-left text-sm" {...props}>
        {children}
      </table>
    </section>
  );
}

export function HeaderCell(props: ComponentProps<'th'>) {
  return (
    <th scope="col" className="border-b border-line px-4 py-3 font-medium whitespace-nowrap text-muted" {...props} />
  );
}

export function Cell({ className = '', ...props }: ComponentProps<'td'>) {
  return (
    <td
      className={`border-b border-line px-4 py-3 whitespace-nowrap in-[tr:last-child]:border-0 ${className}`}
      {...props}
    />
  );
}
