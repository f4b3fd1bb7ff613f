const units = ["B", "kB", "MB", "GB", "TB", "PB"];

/** `1.5 MB`: three digits and a unit. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${units[unit]}`;
}

/** `2 days 3 hours`: the two largest units. */
export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const parts: ReadonlyArray<readonly [number, string]> = [
    [Math.floor(seconds / 86_400), "day"],
    [Math.floor(seconds / 3600) % 24, "hour"],
    [Math.floor(seconds / 60) % 60, "minute"],
    [seconds % 60, "second"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return "less than a second";
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => plural(count, unit))
    .join(" ");
}

export function plural(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** `2026-11-15 08:41:12`, in the time zone of the reader. */
export function time(at: number | string | Date): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `15 Nov 08:41`, for recent times. */
export function shortTime(at: number): string {
  const date = new Date(at);
  const month = date.toLocaleString("en", { month: "short" });
  return `${date.getDate()} ${month} ${time(date).slice(11, 16)}`;
}
