/** The value below which the given share of the values lies, interpolated. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const [low = Number.NaN, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low + (high - low) * (at - Math.floor(at));
}

/** The middle one: a single disturbed round does not move it. */
export const median = (values: readonly number[]) => quantile(values, 0.5);

export const ms = (value: number) => `${value < 1 ? value.toFixed(2) : value.toFixed(1)} ms`;
export const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
export const bytesInWords = (bytes: number) => (bytes < 1e9 ? `${bytes / 1e6} MB` : `${bytes / 1e9} GB`);
export const count = (value: number) => Math.round(value).toLocaleString("en-US");
export const perSecond = (value: number) => `${count(value)}/s`;
export const ratio = (value: number) => value.toFixed(2);
/** Microseconds, with a decimal only where it says something. */
export const micros = (value: number) => (value < 99.5 ? value.toFixed(1) : count(value));

/** Target is a promise about a figure, and whether this run kept it. */
export interface Target {
  readonly description: string;
  readonly met: boolean;
}

export interface Pace {
  /** Only the trend is wanted: nothing is judged and no file is changed. */
  readonly quick: boolean;
  /** How often all servers are started anew: a program is some 10 % faster in one process than in the next. */
  readonly passes: number;
  /** Measurements of each request and server in a pass, in turn with the other servers. */
  readonly rounds: number;
  /** Warming up a server before the rounds of a pass. */
  readonly warmUpSeconds: number;
  /**
   * The same for a server whose code is compiled while it runs: until it has answered so many requests, or twice the time is over.
   * An upload costs half as much after 8,000 requests as after 1,000.
   */
  readonly compiledWarmUp: { readonly seconds: number; readonly requests: number };
  /** How long a measurement takes, about. All of a pass together send fewer requests than its warm-up. */
  readonly roundSeconds: number;
  readonly starts: number;
  /** How long a server is left alone before its memory is read. */
  readonly settleSeconds: number;
}

export const paces: Readonly<Record<"quick" | "full", Pace>> = {
  quick: {
    quick: true,
    passes: 1,
    rounds: 1,
    warmUpSeconds: 0.05,
    compiledWarmUp: { seconds: 0.1, requests: 0 },
    roundSeconds: 0.03,
    starts: 2,
    settleSeconds: 0.2,
  },
  full: {
    quick: false,
    passes: 2,
    rounds: 3,
    warmUpSeconds: 1.1,
    compiledWarmUp: { seconds: 3, requests: 8000 },
    roundSeconds: 0.35,
    starts: 20,
    settleSeconds: 5,
  },
};

/** Shows what is being measured, where somebody looks on. */
export function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text}\x1b[K`);
}

export type Table = { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

export function printTable(title: string, { head, rows }: Table): void {
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

export function markdownTable({ head, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, column) => (column === 0 ? "---" : "--:"));
  return [line(head), `|${rule.join("|")}|`, ...rows.map(line)].join("\n");
}
