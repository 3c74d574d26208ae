/** A file that `init` would write. */
export interface Write {
  file: string;
  content: string;
  /** What is there now; undefined: there is no such file. */
  before: string | undefined;
  /** The file of the package that it is a plain copy of. */
  copyOf?: string;
  /** Holds secrets, its old content too: only this is shown of it. */
  shown?: readonly string[];
}

/** What `init` would do, and what it would leave to a person. Nothing has been written. */
export interface Plan {
  writes: Write[];
  /** What is there already in another form and stays as it is; each says what to look at. */
  kept: string[];
  /** What a person must know or do. */
  notes: string[];
}
