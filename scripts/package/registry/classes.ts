/** The demo's colours by the names that shadcn gives them; those it has no name for come with the item. */
const colours: Record<string, string> = {
  paper: 'background',
  surface: 'card',
  sunken: 'muted',
  ink: 'foreground',
  muted: 'muted-foreground',
  line: 'border',
  'strong-line': 'muted-foreground',
  accent: 'primary',
  'accent-strong': 'primary/80',
  'on-accent': 'primary-foreground',
  ...Object.fromEntries(
    ['good', 'bad', 'warn', 'info'].flatMap((tone) => [
      [tone, `once-${tone}`],
      [`${tone}-surface`, `once-${tone}-surface`],
    ]),
  ),
};

/** Replacements for which a name alone would not do. */
const classes: Record<string, string> = {
  'hover:border-strong-line': 'hover:border-muted-foreground/50',
  'border-strong-line': 'border-input',
  'shadow-raise': 'shadow-xs',
  // Their muted words are not dark enough for their muted surface.
  'bg-sunken text-muted': 'bg-muted text-foreground',
  // What the demo's stylesheet does in forced colours, where surfaces look alike: a line keeps the shape.
  'bg-accent text-on-accent': 'bg-primary text-primary-foreground forced-colors:border',
  ...Object.fromEntries(
    ['good', 'bad', 'warn', 'info'].map((tone) => [
      `bg-${tone}-surface text-${tone}`,
      `bg-once-${tone}-surface text-once-${tone} forced-colors:border`,
    ]),
  ),
};

/** The demo's stylesheet says what it means: the line along the top of the window. */
const RUNNING = { class: 'running', means: 'fixed inset-x-0 top-0 z-10 h-1 animate-pulse bg-primary' };

// Within a text of classes, from one space or variant to the next.
const before = '(?<=^|[\\s:])';
const behind = '(?=$|[\\s/])';
const anyOf = (names: string[]) => names.sort((one, other) => other.length - one.length).join('|');
const UTILITIES = 'bg|text|border|ring|fill|divide|outline|accent';
const CLASS = new RegExp(
  `${before}(?:(${anyOf(Object.keys(classes))})|(${UTILITIES})-(${anyOf(Object.keys(colours))}))${behind}`,
  'g',
);

/** A text of classes of the demo, in words that an app with shadcn's theme knows. Any other text stays as it is. */
export function theirClasses(text: string): string {
  if (text === RUNNING.class) return RUNNING.means;
  // In one go: a name of theirs may be one of the demo's, too, and mean another colour.
  return text.replaceAll(CLASS, (_, whole: string | undefined, what: string, colour: string) =>
    whole ? (classes[whole] ?? whole) : `${what}-${colours[colour]}`,
  );
}
