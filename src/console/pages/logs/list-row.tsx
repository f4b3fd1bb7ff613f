import { piecesOf } from "./line.ts";
import type { Row } from "./rows.ts";
import type { Part, Search } from "./search.ts";

/** A line is cut by the edge of the list; what lies far behind it need not be laid out. */
const longest = 500;

export interface ListRowProps {
  readonly row: Row;
  readonly search: Search;
  readonly current: boolean;
  readonly onPick: (row: Row) => void;
}

export function ListRow({ row, search, current, onPick }: ListRowProps) {
  const pieces = piecesOf(row);
  const marked = search.mark(pieces);
  const level = row.kind === "entry" ? row.entry.level.toLowerCase() : "drop";
  return (
    <li class={`logs-row ${level}${current ? " current" : ""}`}>
      <button type="button" tabIndex={-1} aria-current={current || undefined} onClick={() => onPick(row)}>
        {pieces.map(({ kind }, at) => (
          <span key={at} class={`logs-${kind}`}>
            <Marked parts={marked[at] ?? []} />
          </span>
        ))}
      </button>
    </li>
  );
}

function Marked({ parts }: { readonly parts: readonly Part[] }) {
  return parts.map(({ text, marked }, at) =>
    marked ? <mark key={at}>{text.slice(0, longest)}</mark> : text.slice(0, longest),
  );
}
