import type { ComponentProps, ReactNode } from 'react';

interface Props {
  label: string;
  columns: readonly string[];
  /** Those of the columns that hold numbers, and stand on the right. */
  numbers?: readonly string[];
  /** Rows. */
  children: ReactNode;
}

/** A table that scrolls by itself where the page is too narrow. Focusable, so that the keyboard can scroll it too. */
export function Table({ label, columns, numbers = [], children }: Props) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      className="overflow-x-auto rounded-xl border border-line bg-surface"
    >
      <table className="w-full border-collapse text-left text-sm">
        <thead>
          <tr>
            {columns.map((name) => (
              <th
                key={name}
                scope="col"
                className={`border-b border-line px-4 py-3 font-medium whitespace-nowrap text-muted ${numbers.includes(name) ? 'text-right' : ''}`}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
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
