import { wholeNumber } from "../../base/numbers.ts";
import type { ByteRange } from "../../buckets/file-reader.ts";

/** More ranges than this, or ranges that overlap, are an attack or a mistake: the whole file is sent. */
const maxRanges = 64;

/** parseRanges reads a Range header: RFC 9110 §14. Undefined if it is absent or must be ignored. */
export function parseRanges(
  header: string | null,
  size: number,
): readonly ByteRange[] | "unsatisfiable" | undefined {
  const list = header === null ? undefined : /^bytes\s*=\s*(.+)$/i.exec(header)?.[1];
  if (list === undefined) return undefined;
  const items = list.split(",").map((item) => item.trim());
  if (items.length > maxRanges) return undefined;
  const ranges: ByteRange[] = [];
  for (const item of items) {
    const [first, last] = /^(\d*)-(\d*)$/.exec(item)?.slice(1).map(wholeNumber) ?? [];
    if (first === undefined && last === undefined) return undefined;
    if (first !== undefined && last !== undefined && last < first) return undefined;
    const range =
      first === undefined
        ? lastBytes(last ?? 0, size)
        : { start: first, end: Math.min(last ?? size - 1, size - 1) };
    if (range.start < size && range.start <= range.end) ranges.push(range);
  }
  if (ranges.length === 0) return "unsatisfiable";
  return overlap(ranges) ? undefined : ranges;
}

function lastBytes(count: number, size: number): ByteRange {
  return count === 0 ? { start: size, end: size } : { start: Math.max(0, size - count), end: size - 1 };
}

function overlap(ranges: readonly ByteRange[]): boolean {
  const sorted = [...ranges].sort((a, b) => a.start - b.start);
  return sorted.some((range, at) => at > 0 && range.start <= (sorted[at - 1]?.end ?? -1));
}

export function contentRange({ start, end }: ByteRange, size: number): string {
  return `bytes ${start}-${end}/${size}`;
}
