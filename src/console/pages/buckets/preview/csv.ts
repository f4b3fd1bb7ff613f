/** Table of a CSV or TSV text. */
interface CsvTable {
  readonly rows: readonly (readonly string[])[];
  /** Whether the text has more rows than were read. */
  readonly more: boolean;
}

/** Reads up to `maxRows` rows (RFC 4180). The delimiter is the one that the first line has most of: comma, semicolon or tab. */
export function parseCsv(text: string, maxRows: number): CsvTable {
  const delimiter = delimiterOf(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length && rows.length < maxRows) {
    const { value, end } = text[at] === '"' ? quoted(text, at, delimiter) : plain(text, at, delimiter);
    row.push(value);
    at = end + 1;
    if (text[end] === delimiter && at < text.length) continue;
    if (text[end] === delimiter) row.push("");
    rows.push(row);
    row = [];
  }
  return { rows, more: at < text.length };
}

function delimiterOf(text: string): string {
  const end = text.indexOf("\n");
  const line = end === -1 ? text : text.slice(0, end);
  const count = (delimiter: string) => line.split(delimiter).length;
  return [",", ";", "\t"].reduce((best, next) => (count(next) > count(best) ? next : best));
}

interface Cell {
  readonly value: string;
  /** Index of the delimiter or line end after the cell, or the length of the text. */
  readonly end: number;
}

function plain(text: string, start: number, delimiter: string): Cell {
  let end = start;
  while (end < text.length && text[end] !== delimiter && text[end] !== "\n") end += 1;
  return { value: text.slice(start, end), end };
}

function quoted(text: string, start: number, delimiter: string): Cell {
  let value = "";
  let from = start + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    // Without its closing quote, the rest of the text is the cell.
    if (quote === -1) return { value: value + text.slice(from), end: text.length };
    value += text.slice(from, quote);
    if (text[quote + 1] !== '"') {
      // Text after the closing quote belongs to the cell too.
      const rest = plain(text, quote + 1, delimiter);
      return { value: value + rest.value, end: rest.end };
    }
    value += '"';
    from = quote + 2;
  }
}
