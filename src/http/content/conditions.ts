import type { Stats } from "node:fs";
import { etagOf } from "../../buckets/etag.ts";

/** What a conditional request is held against. */
export interface Validators {
  /** Strong, with its quotes. */
  readonly etag: string;
  /** Whole seconds, as `Last-Modified` tells them. */
  readonly modifiedMs: number;
}

export type Verdict = "send" | "not modified" | "precondition failed";

/** RFC 9110 §13.2.2: the order in which conditions count. For methods that read. */
export function judge(headers: Headers, { etag, modifiedMs }: Validators): Verdict {
  const match = headers.get("if-match");
  if (match !== null) {
    if (!listed(match, etag, false)) return "precondition failed";
  } else {
    const since = parseDate(headers.get("if-unmodified-since"));
    if (since !== undefined && modifiedMs > since) return "precondition failed";
  }
  const noneMatch = headers.get("if-none-match");
  if (noneMatch !== null) return listed(noneMatch, etag, true) ? "not modified" : "send";
  const since = parseDate(headers.get("if-modified-since"));
  return since !== undefined && modifiedMs <= since ? "not modified" : "send";
}

/** Whether a range may be sent, or the whole has to be: RFC 9110 §13.1.5. */
export function rangeHolds(ifRange: string | null, { etag, modifiedMs }: Validators): boolean {
  if (ifRange === null) return true;
  if (ifRange.startsWith('"')) return ifRange === etag;
  return parseDate(ifRange) === modifiedMs;
}

function listed(header: string, etag: string, weakly: boolean): boolean {
  if (header.trim() === "*") return true;
  for (const [, weak, tag] of header.matchAll(/(W\/)?("[^"]*")/g)) {
    if (tag === etag && (weakly || weak === undefined)) return true;
  }
  return false;
}

function parseDate(text: string | null): number | undefined {
  if (text === null) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}

/** What a file's conditions are held against. */
export function toValidators(stats: Stats): Validators {
  return { etag: etagOf(stats), modifiedMs: Math.floor(stats.mtimeMs / 1000) * 1000 };
}

/** RFC 9110 §13.1 for methods that write. A folder has no tag, so it matches nothing but `*`. */
export function judgeWrite(
  headers: Headers,
  current: (Validators & { readonly kind: "file" | "folder" }) | undefined,
): boolean {
  const etag = current?.kind === "file" ? current.etag : undefined;
  const matches = (header: string, weakly: boolean) =>
    current !== undefined && (header.trim() === "*" || (etag !== undefined && listed(header, etag, weakly)));
  const match = headers.get("if-match");
  if (match !== null && !matches(match, false)) return false;
  const since = match === null ? parseDate(headers.get("if-unmodified-since")) : undefined;
  if (since !== undefined && current !== undefined && current.modifiedMs > since) return false;
  const noneMatch = headers.get("if-none-match");
  return noneMatch === null || !matches(noneMatch, true);
}
