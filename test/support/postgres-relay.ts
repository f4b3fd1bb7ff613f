import type { ConnectionFilter } from "./connection-filter.ts";
import { openRelay, type Relay } from "./relay.ts";

/**
 * CommitCut is where the relay cuts a connection: before it passes COMMIT on to PostgreSQL, when PostgreSQL has committed and says so, or
 * in between (`late`): the client is cut off while COMMIT is still on its way. `garbled` cuts nothing: the answer cannot be read.
 */
export type CommitCut = "before" | "after" | "late" | "garbled";

/** How a COMMIT is cut; one that is late arrives when `arrival` resolves. */
interface Cut {
  readonly where: CommitCut;
  readonly arrival?: Promise<unknown>;
}

/** Is told whether the transaction has updated a row. */
type ChooseCut = (hasUpdated: boolean) => Cut | undefined;

/** PostgresRelay is a relay between a node and PostgreSQL, without TLS, which can also cut connections at a COMMIT. */
export interface PostgresRelay extends Omit<Relay, "url"> {
  /** The database through the relay. */
  readonly url: string;
  /** Cuts the connection of the next COMMIT that follows an UPDATE. One that is late arrives when `arrival` resolves. */
  cutCommit(where: CommitCut, arrival?: Promise<unknown>): void;
  /** Asks `choose` about every COMMIT, until it is called with nothing. */
  cutCommits(choose?: ChooseCut): void;
  /** How many COMMITs were cut. */
  readonly cuts: number;
  /** Whether nodes hear what others notify: without, nothing arrives on a connection once it has sent LISTEN, as behind some poolers. */
  passesNotifications: boolean;
}

export async function postgresRelay(databaseUrl: string): Promise<PostgresRelay> {
  const state = {
    choose: undefined as ChooseCut | undefined,
    cuts: 0,
    passesNotifications: true,
  };
  const filter = (): ConnectionFilter => {
    let [hasUpdated, isListening, isDeaf] = [false, false, false];
    let cut: Cut | undefined;
    return {
      get arrival() {
        return cut?.arrival;
      },
      pass(of, bytes) {
        const text = of === "request" || state.choose !== undefined || cut ? bytes.toString("latin1") : "";
        if (of === "request") {
          if (/\bCOMMIT\0/.test(text)) cut = state.choose?.(hasUpdated);
          if (cut !== undefined) state.cuts += 1;
          if (/\bBEGIN\0/.test(text)) hasUpdated = false;
          isListening ||= /\bLISTEN\b/i.test(text);
          return cut?.where === "before" ? undefined : bytes;
        }
        // For good: what comes later would not fit to what was lost.
        isDeaf ||= isListening && !state.passesNotifications;
        if (isDeaf) return Buffer.alloc(0);
        // The tags with which PostgreSQL says that a statement is complete.
        hasUpdated ||= text.includes("UPDATE 1\0");
        if (!text.includes("COMMIT\0")) return bytes;
        if (cut?.where === "garbled") return Buffer.alloc(bytes.length);
        return cut?.where === "after" ? undefined : bytes;
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
    cutCommit(where, arrival = Promise.resolve()) {
      state.choose = (hasUpdated) => {
        if (!hasUpdated) return undefined;
        state.choose = undefined;
        return where === "late" ? { where, arrival } : { where };
      };
    },
    cutCommits(choose) {
      state.choose = choose;
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
