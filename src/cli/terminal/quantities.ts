/** `12.3 MB`: bytes in decimal units. */
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

/** `1 min 5 s`. */
export function timeText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** `2026-11-16 09:30`, in UTC. */
export function minuteText(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

/** `2026-11-16T09:30:12Z`. */
export function secondText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** `5 min ago`, `3 h ago`, `12 days ago`: how long ago a time was that is known to the minute. */
export function agoText(at: number, now = Date.now()): string {
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${countText(Math.floor(hours / 24), "day")} ago`;
}

/** `3,361`. */
export function numberText(count: number): string {
  return count.toLocaleString("en-US");
}

/** `1 file`, `2 files`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}
