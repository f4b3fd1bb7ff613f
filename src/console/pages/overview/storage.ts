import { bytes } from "../../format.ts";
import type { Look } from "./last-look.ts";

export interface TableSize {
  readonly name: string;
  readonly size: number;
  /** Undefined when there is nothing to compare with. */
  readonly growth: number | undefined;
}

/** The largest first. */
export function tableSizes({ tables }: Look, base: Look | undefined): readonly TableSize[] {
  return Object.entries(tables)
    .map(([name, size]) => ({ name, size, growth: base && size - (base.tables[name] ?? 0) }))
    .sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1));
}

/** `+1.2 MB`, `−4 kB`, `unchanged`. */
export function growthText(growth: number): string {
  if (growth === 0) return "unchanged";
  return `${growth > 0 ? "+" : "−"}${bytes(Math.abs(growth))}`;
}
