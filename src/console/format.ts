import { numberIn } from "./text/counted.ts";
import { type Language, languageRows } from "./text/language.ts";
import { language, t } from "./text/text.ts";

const units = ["B", "kB", "MB", "GB", "TB", "PB"];

/** `a, b`. In Chinese `a、b`. */
export function listed(parts: readonly string[]): string {
  return parts.join(languageRows[language()].comma);
}

/** Sentences one after the other, without those that are not shown. Chinese has no blank between them. */
export function sentences(...parts: readonly (string | false)[]): string {
  return parts.filter((part) => part !== false && part !== "").join(languageRows[language()].gap);
}

/** `1,234`. */
export function number(value: number): string {
  return numberIn(language(), value);
}

const threeDigits = perLanguage((tag) => new Intl.NumberFormat(tag, { maximumSignificantDigits: 3 }));

/** `1.5 MB`: three digits and a unit. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : threeDigits().format(value)} ${units[unit]}`;
}

/** `2 days 3 hours`: the two largest units. */
export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const parts: ReadonlyArray<readonly [number, TimeUnit]> = [
    [Math.floor(seconds / 86_400), "day"],
    [Math.floor(seconds / 3600) % 24, "hour"],
    [Math.floor(seconds / 60) % 60, "minute"],
    [seconds % 60, "second"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return t.frame.underASecond;
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => spaced(timeUnits()[unit].format(count)))
    .join(" ");
}

type TimeUnit = "day" | "hour" | "minute" | "second";

const timeUnits = perLanguage((tag) => {
  const of = (unit: TimeUnit) => new Intl.NumberFormat(tag, { style: "unit", unit, unitDisplay: "long" });
  return { day: of("day"), hour: of("hour"), minute: of("minute"), second: of("second") };
});

const relative = perLanguage((tag) => new Intl.RelativeTimeFormat(tag, { numeric: "auto" }));
const relativeUnits: ReadonlyArray<readonly [Intl.RelativeTimeFormatUnit, number]> = [
  ["year", 31_557_600_000],
  ["month", 2_629_800_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** `5 minutes ago`, `yesterday`, `in 3 days`. Show the exact `time` as a tooltip. */
export function ago(at: number, now = Date.now()): string {
  const ms = at - now;
  // What ends in 29 days and 23 hours ends "in 30 days".
  for (const [unit, size] of relativeUnits)
    if (Math.abs(ms) >= size)
      return spaced(relative().format(ms > 0 ? Math.round(ms / size) : Math.trunc(ms / size), unit));
  return t.frame.justNow;
}

/** `2026-11-15 08:41:12`, in the time zone of the reader. The same in every language, because it sorts and is never misread. */
export function time(at: number | string | Date): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

const shortTimes = perLanguage(
  (tag) =>
    new Intl.DateTimeFormat(tag, {
      day: "numeric",
      month: "short",
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
    }),
);

/** `15 Nov, 08:41`, for recent times. */
export function shortTime(at: number): string {
  return spaced(shortTimes().format(at));
}

/** `5 分钟前` instead of the browser's `5分钟前`: the blank that all Chinese texts have beside digits. */
function spaced(text: string): string {
  return text.replace(/(?<=\d)(?=\p{Script=Han})|(?<=\p{Script=Han})(?=\d)/gu, " ");
}

/** Formats are made once a language: making one costs more than using it. */
function perLanguage<T>(make: (tag: string) => T): () => T {
  const made = new Map<Language, T>();
  return () => {
    const now = language();
    const format = made.get(now) ?? make(languageRows[now].locale);
    made.set(now, format);
    return format;
  };
}
