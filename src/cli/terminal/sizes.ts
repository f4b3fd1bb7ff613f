/** Bytes as people read them, in decimal units. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}

export function timeText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** `3,361`: every number that people read has its thousands apart. */
export function numberText(count: number): string {
  return count.toLocaleString("en-US");
}

/** `1 file`, `2 files`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}

/** Columns: aligned under a head on a terminal, else one line a row with tabs, for scripts. */
export function columns(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  terminal = process.stdout.isTTY === true,
): string {
  // What came from a server must not steer the terminal.
  const plain = rows.map((row) => row.map(visible));
  if (!terminal) return plain.map((row) => `${row.join("\t")}\n`).join("");
  const widths = head.map((cell, at) => Math.max(cell.length, ...plain.map((row) => (row[at] ?? "").length)));
  const line = (row: readonly string[]) =>
    `${widths
      .map((width, at) => (row[at] ?? "").padEnd(width))
      .join("  ")
      .trimEnd()}\n`;
  return line(head) + plain.map(line).join("");
}

/** Text with its control characters shown instead of obeyed. */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f]/g,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}
