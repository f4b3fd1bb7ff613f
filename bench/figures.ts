/** The middle one: a single disturbed round does not move it. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/** How far apart the best and the worst round are, in percent of the median. */
export function spread(values: readonly number[]): string {
  return `${Math.round(((Math.max(...values) - Math.min(...values)) / median(values)) * 100)} %`;
}

export const ms = (value: number) => `${value.toFixed(1)} ms`;
export const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
export const perSecond = (value: number) => `${Math.round(value).toLocaleString("en-US")}/s`;
export const ratio = (value: number) => value.toFixed(2);

/** A promise about a figure, and whether this run kept it. */
export interface Target {
  readonly words: string;
  readonly met: boolean;
}

/** One line of the README's table. */
export interface Line {
  readonly what: string;
  readonly ours: string;
  readonly bare: string;
  /** Of the bare server's pace; only for what is counted by the second. */
  readonly ratio?: string;
  readonly target?: Target;
}

export interface Pace {
  /** Only the trend is wanted. */
  readonly quick: boolean;
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly starts: number;
  /** How long a server is left alone before its memory is read. */
  readonly settleSeconds: number;
}

export function printTable(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const print = (row: readonly string[]) =>
    console.log(
      widths
        .map((width, column) =>
          column === 0 ? (row[0] ?? "").padEnd(width) : (row[column] ?? "").padStart(width),
        )
        .join("  "),
    );
  console.log(`\n${title}`);
  print(head);
  print(widths.map((width) => "-".repeat(width)));
  for (const row of rows) print(row);
}
