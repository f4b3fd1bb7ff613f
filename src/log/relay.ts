import { detail, type LogEntry } from "./entry.ts";
import { auditTarget, type Filter, parseFilter } from "./filter.ts";
import type { Sink } from "./hub.ts";

/** Relay passes an entry on to the server's other processes. */
export type Relay = (entry: LogEntry) => void;

/**
 * `relaySinks` are sinks that pass on what the memory of this process keeps, and every audit entry. So each process answers for
 * the whole server when it is asked for the log.
 */
export function relaySinks(memory: Filter, relay: Relay): Sink[] {
  const sinks: Sink[] = [{ filter: memory, write: relay }];
  if (memory.detailFor(auditTarget) < detail.INFO)
    sinks.push({ filter: parseFilter(`${auditTarget}=info`), write: relay });
  return sinks;
}
