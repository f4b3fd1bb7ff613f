import { AsyncLocalStorage } from "node:async_hooks";
import { clip, type Fields, formatPairs, type SpanContext } from "./entry.ts";

/** What a piece of work is called in every log entry made within it. The one ambient value in the house. */
interface Span {
  readonly name: string;
  readonly fields: Fields;
  readonly parent: Span | undefined;
}

/** Work of the log's own plumbing: what it does is no event. */
const quiet: Span = { name: "", fields: {}, parent: undefined };

const current = new AsyncLocalStorage<Span>();

/** `fields` is read when an entry is made, so it may be filled in as the work learns more. */
export function inSpan<T>(name: string, fields: Fields, work: () => T): T {
  return current.run({ name, fields, parent: current.getStore() }, work);
}

/** Nothing that happens within `work` is logged, so that watching the log makes no log. */
export function quietly<T>(work: () => T): T {
  return current.run(quiet, work);
}

/** Runs `work` as nobody's: what it logs, now or later, stands in no span and is not silenced by one. */
export function outsideSpans<T>(work: () => T): T {
  return current.exit(work);
}

export function isQuiet(): boolean {
  return current.getStore() === quiet;
}

/** Outermost first. */
export function currentSpans(): SpanContext[] {
  const spans: SpanContext[] = [];
  for (let span = current.getStore(); span !== undefined; span = span.parent) {
    spans.unshift({ name: span.name, fields: clip(formatPairs(span.fields)) });
  }
  return spans;
}
