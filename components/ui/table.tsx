import type { ComponentProps, ReactNode } from 'react';

interface Props {
  label: string;
  columns: readonly string[];
  /** Those of the columns that hold numbers, and stand on the right. */
  numbers?: readonly string[];
  /** On a phone each row is read from top to bottom; its cells name their columns by `label`. */
  isStacked?: boolean;
  /** Rows. */
  children: ReactNode;
}

/** Roles are said, because a browser forgets those of a table that is not laid out as one. */
const stacked = [
  'max-sm:block max-sm:[&_tbody]:block max-sm:[&_thead]:sr-only',
  'max-sm:[&_tr]:grid max-sm:[&_tr]:gap-1 max-sm:[&_tr]:border-b max-sm:[&_tr]:border-line max-sm:[&_tr]:px-4',
  'max-sm:[&_tr]:py-3 max-sm:[&_tr:last-child]:border-0',
  'max-sm:[&_td]:flex max-sm:[&_td]:max-w-full max-sm:[&_td]:min-w-0 max-sm:[&_td]:gap-x-2 max-sm:[&_td]:border-0',
  'max-sm:[&_td]:p-0 max-sm:[&_td]:text-left',
  'max-sm:[&_td[data-label]]:before:w-24 max-sm:[&_td[data-label]]:before:shrink-0',
  'max-sm:[&_td[data-label]]:before:text-muted max-sm:[&_td[data-label]]:before:content-[attr(data-label)]',
].join(' ');

/** A table that scrolls by itself where the page is too narrow. Focusable, so that the keyboard can scroll it too. */
export function Table({ label, columns, numbers = [], isStacked = false, children }: Props) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      className="overflow-x-auto rounded-xl border border-line bg-surface"
    >
      {/* biome-ignore lint/a11y/noRedundantRoles: not redundant where it is stacked */}
      <table role="table" className={`w-full border-collapse text-left text-sm ${isStacked ? stacked : ''}`}>
        {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
        <thead role="rowgroup">
          {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
          <tr role="row">
            {columns.map((name) => (
              <th
                key={name}
                // biome-ignore lint/a11y/noRedundantRoles: see above
                role="columnheader"
                scope="col"
                className={`border-b border-line px-4 py-3 font-medium whitespace-nowrap text-muted ${numbers.includes(name) ? 'text-right' : ''}`}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
        <tbody role="rowgroup">{children}</tbody>
      </table>
    </section>
  );
}

/** A row of it. */
export function Row(props: ComponentProps<'tr'>) {
  // biome-ignore lint/a11y/noRedundantRoles: see above
  return <tr role="row" {...props} />;
}

interface CellProps extends ComponentProps<'td'> {
  /** Its column's name, said beside it where rows are stacked. Without one it is read by itself. */
  label?: string;
}

export function Cell({ label, className = '', ...props }: CellProps) {
  return (
    <td
      // biome-ignore lint/a11y/noRedundantRoles: see above
      role="cell"
      data-label={label}
      className={`border-b border-line px-4 py-3 whitespace-nowrap in-[tr:last-child]:border-0 ${className}`}
      {...props}
    />
  );
}
