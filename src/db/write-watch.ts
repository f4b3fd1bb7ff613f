import { codeOf, Fault, messageOf } from "../base/fault.ts";
import type { Logger } from "../log/hub.ts";
import { outsideSpans } from "../log/span.ts";
import type { ConnectionSource, Execute } from "./driver.ts";

/** SQLSTATEs of a database that accepts no writes: read_only_sql_transaction, disk_full. */
const refusingStates = new Set(["25006", "53100"]);
const refusingCodes = /^SQLITE_(READONLY|FULL|IOERR)/;
const writes = /^\s*(insert|update|delete)\b/i;

interface WatchedSource extends ConnectionSource {
  /** False if the last write failed because the database accepts none. */
  readonly acceptsWrites: boolean;
}

/**
 * `watchWrites` logs once that the database has stopped accepting writes (a full disk, a file made read-only, a standby), and once
 * that it accepts them again. Callers get every failure; without this the log would have none.
 */
export function watchWrites(source: ConnectionSource, log: Logger): WatchedSource {
  let failing = false;
  const observed =
    (execute: Execute, proves: (sql: string) => boolean): Execute =>
    async (sql, params) => {
      try {
        const result = await execute(sql, params);
        if (proves(sql) && failing) {
          failing = false;
          outsideSpans(() => log.event("database.write_restored", "the database accepts writes again", {}));
        }
        return result;
      } catch (error) {
        if (!failing && refusesWrites(error)) {
          failing = true;
          // A quiet statement, such as that of the heartbeat, may be the first to fail.
          outsideSpans(() =>
            log.event(
              "database.write_failed",
              "the database accepts no writes; every change fails until this is fixed",
              { reason: messageOf((error as Error).cause) },
            ),
          );
        }
        throw error;
      }
    };
  return {
    get acceptsWrites() {
      return !failing;
    },
    begin: source.begin,
    close: () => source.close(),
    execute: observed(source.execute, (sql) => writes.test(sql)),
    ...(source.read === undefined ? {} : { read: observed(source.read, () => false) }),
    async reserve() {
      const reserved = await source.reserve();
      return { execute: observed(reserved.execute, provesByCommit()), release: () => reserved.release() };
    },
  };
}

/**
 * `provesByCommit` tells of each statement of a transaction whether its success proves that the database accepts writes: only
 * COMMIT does, because a change may stay in memory until then.
 */
function provesByCommit(): (sql: string) => boolean {
  let wrote = false;
  return (sql) => {
    wrote ||= writes.test(sql);
    return wrote && sql === "COMMIT";
  };
}

function refusesWrites(error: unknown): boolean {
  if (!(error instanceof Fault) || !(error.cause instanceof Error)) return false;
  const { cause } = error;
  const state = "errno" in cause ? String(cause.errno) : "";
  return refusingCodes.test(codeOf(cause) ?? "") || refusingStates.has(state);
}
