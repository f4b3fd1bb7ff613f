export const levels = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"] as const;
export type Level = (typeof levels)[number];

/** How detailed a level is: 1 for ERROR up to 5 for TRACE. 0 is "nothing". */
export const detail: Readonly<Record<Level, number>> = { ERROR: 1, WARN: 2, INFO: 3, DEBUG: 4, TRACE: 5 };

export type Fields = Readonly<Record<string, unknown>>;

export interface LogEntry {
  readonly timestamp: string;
  readonly level: Level;
  readonly target: string;
  readonly message: string;
  readonly fields: Fields;
  readonly spans: readonly SpanContext[];
}

export interface SpanContext {
  readonly name: string;
  /** `key=value` pairs joined by single spaces. */
  readonly fields: string;
}

/** Longer texts are cut: a log entry is for reading, and clients choose what some of them hold. */
const maxFieldChars = 8192;

export function clip(text: string): string {
  if (text.length <= maxFieldChars) return text;
  // A copy: a slice would keep the whole text in memory for as long as the entry is kept.
  const begin = Buffer.from(text.slice(0, maxFieldChars)).toString();
  return `${begin}… (${text.length - maxFieldChars} more)`;
}

export function clipFields(fields: Fields): Fields {
  for (const value of Object.values(fields)) {
    if (typeof value === "string" && value.length > maxFieldChars) {
      return Object.fromEntries(
        Object.entries(fields).map(([k, v]) => [k, typeof v === "string" ? clip(v) : v]),
      );
    }
  }
  return fields;
}

const two = (n: number) => String(n).padStart(2, "0");

/** ISO 8601 in local time, with milliseconds and a colon in the offset. */
export function formatTimestamp(at: Date): string {
  const offset = -at.getTimezoneOffset();
  const sign = offset < 0 ? "-" : "+";
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return `${date}T${time}${sign}${two(Math.trunc(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
}

/** `key=value key="two words"`: a value that would blur into its neighbours is quoted. */
export function formatPairs(fields: Fields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => {
      const text = clip(typeof value === "string" ? value : (JSON.stringify(value) ?? String(value)));
      const plain = typeof value !== "string" || /^[^\s"=\x00-\x1f\x7f-\x9f]+$/.test(text);
      return `${key}=${plain ? text : JSON.stringify(text)}`;
    })
    .join(" ");
}
