import type { ConnectionFilter } from "./connection-filter.ts";
import { openRelay, type Relay } from "./relay.ts";

/** Where the relay cuts a connection: before it passes COMMIT on to PostgreSQL, or when PostgreSQL has committed and says so. */
export type CommitCut = "before" | "after";

/** PostgresRelay is a relay between a node and PostgreSQL, without TLS, which can also cut connections at a COMMIT. */
export interface PostgresRelay extends Omit<Relay, "url"> {
  /** The database through the relay. */
  readonly url: string;
  /** Cuts the connection of the next COMMIT that follows an UPDATE. */
  cutCommit(where: CommitCut): void;
  /** How many COMMITs were cut. */
  readonly cuts: number;
  /** Whether nodes hear what others notify: without, nothing arrives on a connection once it has sent LISTEN, as behind some poolers. */
  passesNotifications: boolean;
}

export async function postgresRelay(databaseUrl: string): Promise<PostgresRelay> {
  const state = { armed: undefined as CommitCut | undefined, cuts: 0, passesNotifications: true };
  const cutCommit = () => {
    state.armed = undefined;
    state.cuts += 1;
    return undefined;
  };
  const filter = (): ConnectionFilter => {
    let [isCommitNext, isListening, isDeaf] = [false, false, false];
    return {
      pass(of, bytes) {
        const text = state.armed || of === "request" ? bytes.toString("latin1") : "";
        if (of === "request") {
          if (isCommitNext && state.armed === "before") return cutCommit();
          isListening ||= /\bLISTEN\b/i.test(text);
          return bytes;
        }
        // For good: what comes later would not fit to what was lost.
        isDeaf ||= isListening && !state.passesNotifications;
        if (isDeaf) return Buffer.alloc(0);
        // The tags with which PostgreSQL says that a statement is complete.
        if (state.armed === "before" && text.includes("UPDATE 1\0")) isCommitNext = true;
        if (state.armed === "after" && text.includes("COMMIT\0")) return cutCommit();
        return bytes;
      },
    };
  };
  const url = new URL(databaseUrl);
  const relay = await openRelay(Number(url.port), { filter });
  url.hostname = "127.0.0.1";
  url.port = String(relay.port);
  return {
    ...relay,
    url: url.href,
    cutCommit(where) {
      state.armed = where;
    },
    get cuts() {
      return state.cuts;
    },
    get passesNotifications() {
      return state.passesNotifications;
    },
    set passesNotifications(passes) {
      state.passesNotifications = passes;
    },
  };
}
