import type { FileStats } from "../../buckets/ports.ts";

/** Validators are what the conditions of a request are compared with: RFC 9110 §8.8. */
export interface Validators {
  /** Strong, with its quotes. */
  readonly etag: string;
  /** Whole seconds, the resolution of `Last-Modified`. */
  readonly modifiedMs: number;
}

export type ConditionResult = "send" | "not modified" | "precondition failed";

/** evaluateConditions checks the conditions of a GET or HEAD in the order of RFC 9110 §13.2.2. */
export function evaluateConditions(headers: Headers, { etag, modifiedMs }: Validators): ConditionResult {
  const match = headers.get("if-match");
  if (match !== null) {
    if (!matches(match, etag, { weakly: false })) return "precondition failed";
  } else {
    const since = parseDate(headers.get("if-unmodified-since"));
    if (since !== undefined && modifiedMs > since) return "precondition failed";
  }
  const noneMatch = headers.get("if-none-match");
  if (noneMatch !== null) return matches(noneMatch, etag, { weakly: true }) ? "not modified" : "send";
  const since = parseDate(headers.get("if-modified-since"));
  return since !== undefined && modifiedMs <= since ? "not modified" : "send";
}

/** mayUseRange evaluates If-Range: whether the range may be sent, or the whole file has to be. RFC 9110 §13.1.5. */
export function mayUseRange(ifRange: string | null, { etag, modifiedMs }: Validators): boolean {
  if (ifRange === null) return true;
  if (ifRange.startsWith('"')) return ifRange === etag;
  return parseDate(ifRange) === modifiedMs;
}

function matches(header: string, etag: string, { weakly }: { readonly weakly: boolean }): boolean {
  if (header.trim() === "*") return true;
  for (const [, weak, tag] of header.matchAll(/(?:^|,)\s*(W\/)?("[^"]*")/g)) {
    if (tag === etag && (weakly || weak === undefined)) return true;
  }
  return false;
}

function parseDate(text: string | null): number | undefined {
  if (text === null) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}

export function toValidators({ etag, modifiedMs }: FileStats): Validators {
  return { etag, modifiedMs: Math.floor(modifiedMs / 1000) * 1000 };
}

/**
 * mayWrite evaluates the conditions of a writing method: RFC 9110 §13.1. `current` is what exists at the path. A folder has no
 * entity tag, so nothing but `*` matches it.
 */
export function mayWrite(
  headers: Headers,
  current: (Validators & { readonly kind: "file" | "folder" }) | undefined,
): boolean {
  const etag = current?.kind === "file" ? current.etag : undefined;
  const matchesCurrent = (header: string, comparison: { readonly weakly: boolean }) =>
    current !== undefined &&
    (header.trim() === "*" || (etag !== undefined && matches(header, etag, comparison)));
  const match = headers.get("if-match");
  if (match !== null && !matchesCurrent(match, { weakly: false })) return false;
  const since = match === null ? parseDate(headers.get("if-unmodified-since")) : undefined;
  if (since !== undefined && current !== undefined && current.modifiedMs > since) return false;
  const noneMatch = headers.get("if-none-match");
  return noneMatch === null || !matchesCurrent(noneMatch, { weakly: true });
}
