/** The rooms of `.dependency-cruiser.mjs`, each with those that it may import: `lib/engine`, or one file, `lib/worker/passes.ts`. */
export type Rooms = Readonly<Record<string, { readonly may: readonly string[] }>>;

/** Rooms that most others may import: they are told in a sentence, for with their arrows nothing would be seen. */
const BELOW = ['lib/core', 'lib/telemetry'];
/** The kit's entries, one arrow for the shop and its pages. */
const ENTRIES = 'entries';

/**
 * Draws the arrows. A room of the repository that may import none of the others is left out.
 *
 * @param isPublic whether a room of the kit is one of its entries
 */
export function drawRooms(rooms: Rooms, isPublic: (room: string) => boolean): string {
  const names = Object.keys(rooms);
  const isOfKit = (room: string) => room.startsWith('lib/');
  const boxes = (of: readonly string[]) => of.map((room) => `    ${idOf(room)}["${labelOf(room, isPublic(room))}"]`);
  const arrows = Object.entries(rooms).flatMap(([from, { may }]) =>
    may.filter((to) => !BELOW.includes(to)).map((to) => `  ${idOf(from)} ${arrowTo(to, names)}`),
  );
  const below = BELOW.map((room) => {
    const above = names.filter((name) => rooms[name]?.may.includes(room)).map((name) => `\`${nameOf(name)}\``);
    return `Not drawn: ${above.join(', ')} may import \`${nameOf(room)}\`.`;
  });
  return [
    '```mermaid',
    'flowchart TD',
    ...['  subgraph demo', ...boxes(names.filter((room) => !isOfKit(room) && rooms[room]?.may.length)), '  end'],
    `  subgraph ${ENTRIES} ["the kit: lib/"]`,
    ...boxes(names.filter((room) => isOfKit(room) && !BELOW.includes(room))),
    '  end',
    ...arrows,
    '```',
    '',
    below.join('\n\n'),
  ].join('\n');
}

function arrowTo(to: string, names: readonly string[]): string {
  if (names.includes(to) || to === ENTRIES) return `--> ${idOf(to)}`;
  const at = to.lastIndexOf('/');
  return `-->|${to.slice(at + 1)} alone| ${idOf(to.slice(0, at))}`;
}

function nameOf(room: string): string {
  return room.replace(/^lib\//, '');
}

function idOf(room: string): string {
  return nameOf(room).replaceAll(/\W/g, '');
}

function labelOf(room: string, isPublic: boolean): string {
  const name = nameOf(room);
  if (!isPublic) return name;
  return `${name} (oncekit${name === 'index.ts' ? '' : `/${name}`})`;
}
