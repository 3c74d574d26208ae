import { TextLink } from '../../ui/text-link.tsx';

interface Props {
  /** The address that the name of a shelf stands behind. */
  base: string;
  shelves: readonly string[];
  /** How many mugs were ordered last. */
  latest?: Partial<Record<string, number>>;
}

/** Links to the page of each shelf. */
export function ShelfList({ base, shelves, latest = {} }: Props) {
  return (
    <ul aria-label="Shelves" className="grid gap-2">
      {shelves.map((shelf) => (
        <li key={shelf} className="flex flex-wrap gap-x-3">
          {/* Not prefetched: the page behind it issues a key. */}
          <TextLink href={`${base}/${shelf}`} prefetch={false}>
            The {shelf}
          </TextLink>
          {latest[shelf] ? <span className="text-muted">{latest[shelf]} ordered last</span> : null}
        </li>
      ))}
    </ul>
  );
}
