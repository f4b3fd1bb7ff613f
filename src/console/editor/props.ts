/** Position in a text. Line and column start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Problem at a position of the text. */
export interface Mark extends Position {
  readonly message: string;
  /** Default: `error`. */
  readonly severity?: "error" | "warning" | undefined;
}

/** Methods of an editor for the page that shows it. */
export interface EditorHandle {
  /** Selected text and its start; without a selection, an empty text at the cursor. */
  readonly selected: Position & { readonly text: string };
  /** Inserts a text at the cursor, replacing the selection, and moves the cursor behind it. */
  insert(text: string): void;
  goTo(container: Position): void;
}

/** Text that the person may want at the cursor. */
export interface Suggestion {
  readonly label: string;
  /** Text that is inserted. Default: `label`. */
  readonly apply?: string;
  /** Short text beside the label. */
  readonly detail?: string;
  /** Longer text, shown for the selected suggestion. */
  readonly info?: string;
}

export interface Suggestions {
  /** Number of characters before the cursor that a suggestion replaces. */
  readonly replaces: number;
  readonly options: readonly Suggestion[];
}

/** Column names by table, for completion. */
export type SqlSchema = Readonly<Record<string, readonly string[]>>;

export interface EditorProps {
  /** Accessible name. */
  readonly label: string;
  /** Initial text. Afterwards the editor owns its text and reports each change to `onChange`. */
  readonly value: string;
  /** The editor replaces its text with `value` when this changes, and at no other time. */
  readonly revision?: number | string;
  readonly onChange?: (text: string) => void;
  /** Language name (`sql`, `toml`, `json`, …; see languages.ts). Unknown names give plain text. */
  readonly language?: string;
  readonly dialect?: "sqlite" | "postgres";
  readonly schema?: SqlSchema;
  /** Completes the text at an offset. It is read when the language is set, so it must stay the same function. */
  readonly suggest?: (text: string, at: number) => Suggestions | undefined;
  /** Called when the cursor has moved, and once at the start. */
  readonly onCursor?: (position: Position) => void;
  readonly marks?: readonly Mark[];
  /** Called at Ctrl+Enter or Cmd+Enter, with the whole and the selected text. */
  readonly onRun?: (text: string, selected: string) => void;
  /** Called at Ctrl+S or Cmd+S. */
  readonly onSave?: () => void;
  readonly readOnly?: boolean;
  /** Takes the focus once it is loaded. */
  readonly initialFocus?: boolean;
  /** Matches are shown as dots. Must have the flag `g`. */
  readonly secrets?: RegExp | undefined;
  /** Set once the editor is loaded. */
  readonly handle?: { current: EditorHandle | null };
}
