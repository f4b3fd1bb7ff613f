import { AsyncLocalStorage } from "node:async_hooks";
import { clip, type Fields, formatPairs, type SpanContext } from "./entry.ts";

/** Span names a piece of work in every log entry made within it. It is the only ambient value of this code base. */
interface Span {
  readonly name: string;
  readonly fields: Fields;
  readonly parent: Span | undefined;
}

/** The span of the log's own work, within which nothing is logged. */
const quiet: Span = { name: "", fields: {}, parent: undefined };

const current = new AsyncLocalStorage<Span>();

/**
 * `inSpan` runs `work` in a span, with `args`. `fields` is read when an entry is made, so it may be filled while the work runs.
 */
export function inSpan<T, A extends unknown[]>(
  name: string,
  fields: Fields,
  work: (...args: A) => T,
  ...args: A
): T {
  return current.run({ name, fields, parent: current.getStore() }, work, ...args);
}

/** `quietly` runs `work` without logging anything in it, so that reading the log does not write to the log. */
export function quietly<T>(work: () => T): T {
  return current.run(quiet, work);
}

/** `outsideSpans` runs `work` outside all spans: its log entries, also later ones, have no span and are not silenced by one. */
export function outsideSpans<T>(work: () => T): T {
  return current.exit(work);
}

export function isQuiet(): boolean {
  return current.getStore() === quiet;
}

/** `currentSpans` returns the spans of the caller, the outermost first. */
export function currentSpans(): SpanContext[] {
  const spans: SpanContext[] = [];
  for (let span = current.getStore(); span !== undefined; span = span.parent) {
    spans.unshift({ name: span.name, fields: clip(formatPairs(span.fields)) });
  }
  return spans;
}
