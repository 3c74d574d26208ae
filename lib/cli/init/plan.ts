/** A file that `init` would write. */
export interface FileWrite {
  file: string;
  content: string;
  /** The present content; undefined: there is no such file. */
  before: string | undefined;
  /** The file of the package that it is a plain copy of. */
  copyOf?: string;
  /** Holds secrets, its old content too: only this is shown of it. */
  shown?: readonly string[];
}

/** A file that `remove` would delete. */
export interface Removal {
  file: string;
  before: string;
}

/** The changes that `init` would make, and those that it would leave to a person. Nothing has been written. */
export interface Plan {
  writes: FileWrite[];
  /** Files that differ and stay as they are; each says what to look at. */
  kept: string[];
  /** Notes for a person. */
  notes: string[];
}
