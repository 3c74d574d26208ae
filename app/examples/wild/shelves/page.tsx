import { Example } from '../../../../components/examples/example.tsx';
import { ShelfList } from '../../../../components/examples/wild/shelf-list.tsx';
import { latestOfShelves, SHELVES, SHELVES_PAGE } from '../../../../shop/lab/example-visits.ts';
import { currentPrincipal } from '../../../../shop/session/visitor.ts';

export default async function ShelvesPage() {
  return (
    <Example id="list" title="All shelves" text="Each has a page, on which a number of mugs is ordered for it.">
      <ShelfList base={SHELVES_PAGE} shelves={SHELVES} latest={await latestOfShelves(await currentPrincipal())} />
    </Example>
  );
}
