export const levels = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"] as const;
export type Level = (typeof levels)[number];

/** `detail` ranks levels by how detailed they are: 1 for ERROR up to 5 for TRACE. 0 means that nothing is logged. */
export const detail: Readonly<Record<Level, number>> = { ERROR: 1, WARN: 2, INFO: 3, DEBUG: 4, TRACE: 5 };

export type Fields = Readonly<Record<string, unknown>>;

/** LogRecord is a log event as code reports it. */
export interface LogRecord {
  readonly level: Level;
  readonly target: string;
  readonly message: string;
  readonly fields: Fields;
}

/**
 * LogEntry is a log event as sinks and readers get it. Its members are the wire format of the log methods and of the JSON log
 * file.
 */
export interface LogEntry extends LogRecord {
  readonly timestamp: string;
  readonly spans: readonly SpanContext[];
}

/** SpanContext names a piece of work in which an entry was made, such as a call. */
export interface SpanContext {
  readonly name: string;
  /** `key=value` pairs joined by single spaces. */
  readonly fields: string;
}

/** The length to which texts are cut: an entry is for reading, and clients choose the content of some. */
const maxFieldChars = 8192;

/** `clip` cuts a text to `maxFieldChars` and appends how many characters are missing. */
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

/** `formatTimestamp` writes ISO 8601 in local time, with milliseconds and a colon in the offset. */
export function formatTimestamp(at: Date): string {
  const offset = -at.getTimezoneOffset();
  const sign = offset < 0 ? "-" : "+";
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return `${date}T${time}${sign}${two(Math.trunc(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
}

/**
 * `formatPairs` writes `key=value key="two words"`, without the fields in `hidden`; a value that could be confused with its
 * neighbours is quoted.
 */
export function formatPairs(fields: Fields, hidden: readonly string[] = []): string {
  let pairs = "";
  for (const key in fields) {
    const value = fields[key];
    if (value === undefined || hidden.includes(key)) continue;
    if (pairs !== "") pairs += " ";
    pairs += `${key}=`;
    pairs +=
      typeof value === "string" ? quotedIfNeeded(clip(value)) : clip(JSON.stringify(value) ?? String(value));
  }
  return pairs;
}

function quotedIfNeeded(text: string): string {
  return /^[^\s"=\x00-\x1f\x7f-\x9f]+$/.test(text) ? text : JSON.stringify(text);
}
