import { useState } from "preact/hooks";
import { plural } from "../../format.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Check } from "../../ui/field.tsx";
import { isRounded, toReadable, toText } from "./cell.ts";

export interface CellViewerProps {
  readonly column: string;
  /** Counts from 1. */
  readonly row: number;
  readonly value: unknown;
  readonly onClose: () => void;
}

/** One value, whole. */
export function CellViewer({ column, row, value, onClose }: CellViewerProps) {
  const text = toText(value);
  const readable = toReadable(value);
  const [tidy, setTidy] = useState(true);
  return (
    <Dialog title={`${column}, row ${row.toLocaleString("en")}`} onClose={onClose} wide>
      {value === null && <p>NULL: there is no value.</p>}
      {value === "" && <p>A text without characters.</p>}
      {isRounded(value) && <p class="notice">Rounded by the browser. {wholeDigits}</p>}
      {value !== null && value !== "" && (
        // A box that scrolls must be reached by keyboard to be scrolled by it.
        <pre class="sql-value" tabIndex={0}>
          {tidy ? readable : text}
        </pre>
      )}
      <footer>
        {readable !== text && <Check label="Over several lines" checked={tidy} onChange={setTidy} />}
        {typeof value === "string" && <span class="muted">{plural(text.length, "character")}</span>}
        <CopyButton text={text} label="Copy value" />
      </footer>
    </Dialog>
  );
}

export const wholeDigits =
  "Whole numbers above 9,007,199,254,740,991 lose digits in a browser; CAST them to TEXT to see all.";
