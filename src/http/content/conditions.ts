import type { FileStats } from "../../buckets/ports.ts";
import type { EntityTags, HttpConditions } from "../../buckets/write-conditions.ts";

/** Validators are what the conditions of a request are compared with: RFC 9110 §8.8. */
export interface Validators {
  /** Strong, with its quotes. */
  readonly etag: string;
  /** Whole seconds, the resolution of `Last-Modified`. */
  readonly modifiedMs: number;
}

type ConditionResult = "send" | "not modified" | "precondition failed";

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

/** An entity tag in a list of them. */
const listedTag = /(?:^|,)\s*(W\/)?("[^"]*")/g;

function matches(header: string, etag: string, { weakly }: { readonly weakly: boolean }): boolean {
  if (header.trim() === "*") return true;
  for (const [, weak, tag] of header.matchAll(listedTag)) {
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

/** writeConditionsIn reads the conditions of a method that writes: RFC 9110 §13.1. */
export function writeConditionsIn(headers: Headers): HttpConditions {
  return {
    match: entityTags(headers.get("if-match")),
    noneMatch: entityTags(headers.get("if-none-match")),
    unmodifiedSinceMs: parseDate(headers.get("if-unmodified-since")),
  };
}

function entityTags(header: string | null): EntityTags | undefined {
  if (header === null) return undefined;
  if (header.trim() === "*") return "*";
  return Array.from(header.matchAll(listedTag), ([, weak, tag = ""]) => ({
    tag,
    isWeak: weak !== undefined,
  }));
}
