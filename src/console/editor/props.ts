/** Both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A place in the text where something is wrong. */
export interface Mark extends Place {
  readonly message: string;
  /** `error` unless given. */
  readonly severity?: "error" | "warning" | undefined;
}

/** What a page can do with its editor beside giving it a text. */
export interface EditorHandle {
  /** What is selected, and where that begins; without a selection an empty text at the cursor. */
  readonly selected: Place & { readonly text: string };
  /** Puts a text at the cursor, in place of what is selected, and the cursor behind it. */
  insert(text: string): void;
  goTo(place: Place): void;
}

/** Tables with their columns, for completion. */
export type SqlSchema = Readonly<Record<string, readonly string[]>>;

export interface EditorProps {
  /** What it is, for screen readers. */
  readonly label: string;
  /** The text to begin with. From then on the text is the editor's own, which reports each change to `onChange`. */
  readonly value: string;
  /** The editor takes `value` in place of its own text whenever this changes, and at no other time. */
  readonly revision?: number | string;
  readonly onChange?: (text: string) => void;
  /** A language by name (`sql`, `toml`, `json`, …; see languages.ts); unknown ones are plain text. */
  readonly language?: string;
  readonly dialect?: "sqlite" | "postgres";
  readonly schema?: SqlSchema;
  readonly marks?: readonly Mark[];
  /** Ctrl+Enter, or Cmd+Enter, with the selected text if there is one. */
  readonly onRun?: (text: string, selected: string) => void;
  /** Ctrl+S, or Cmd+S. */
  readonly onSave?: () => void;
  readonly readOnly?: boolean;
  /** The cursor is in it as soon as it is there. */
  readonly initialFocus?: boolean;
  /** What it finds is shown as dots; must have the flag `g`. */
  readonly secrets?: RegExp | undefined;
  /** Filled once the editor is there. */
  readonly handle?: { current: EditorHandle | null };
}
