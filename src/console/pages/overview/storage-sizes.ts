import { bytes } from "../../format.ts";
import { t } from "../../text/text.ts";

export interface TableSize {
  readonly name: string;
  readonly size: number;
  /** Growth since the base sample; undefined without one. */
  readonly growth: number | undefined;
}

/** Sizes of all tables, largest first. */
export function tableSizes({ tables }: SizeSample, base: SizeSample | undefined): readonly TableSize[] {
  return Object.entries(tables)
    .map(([name, size]) => ({ name, size, growth: base && size - (base.tables[name] ?? 0) }))
    .sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1));
}

/** `+1.2 MB`, `−4 kB`, `unchanged`. */
export function growthText(growth: number): string {
  if (growth === 0) return t.overview.unchanged;
  return `${growth > 0 ? "+" : "−"}${bytes(Math.abs(growth))}`;
}

/** Size of each table in bytes at one time. */
export interface SizeSample {
  readonly at: number;
  readonly total: number;
  readonly tables: Readonly<Record<string, number>>;
}

/** Samples stored in the browser. */
export interface SizeHistory {
  /** Sample that new ones are compared with. */
  readonly base?: SizeSample;
  readonly latest: SizeSample;
}

/** Samples closer together belong to one visit, and are compared with the last sample before it. */
const visitGapMs = 30 * 60_000;

export function addSample(stored: SizeHistory | undefined, now: SizeSample): SizeHistory {
  if (stored === undefined) return { latest: now };
  const { base = stored.latest, latest } = stored;
  return { base: now.at - latest.at > visitGapMs ? latest : base, latest: now };
}

/** Stored history; undefined when it is invalid. Other pages of the origin can write there too. */
export function parseHistory(text: string | undefined): SizeHistory | undefined {
  try {
    const stored: unknown = JSON.parse(text ?? "null");
    return isHistory(stored) ? stored : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isHistory(value: unknown): value is SizeHistory {
  if (typeof value !== "object" || value === null || !("latest" in value) || !isSample(value.latest))
    return false;
  return !("base" in value) || isSample(value.base);
}

function isSample(value: unknown): value is SizeSample {
  if (typeof value !== "object" || value === null) return false;
  const { at, total, tables } = value as Partial<Record<keyof SizeSample, unknown>>;
  if (typeof at !== "number" || Number.isNaN(new Date(at).getTime()) || typeof total !== "number")
    return false;
  if (typeof tables !== "object" || tables === null) return false;
  return Object.values(tables).every((size) => typeof size === "number");
}
