import { atMost, type Clock } from "../base/clock.ts";
import { messageOf } from "../base/fault.ts";
import { Task } from "../base/task.ts";
import type { TokenUseRows } from "../db/rows/token-rows.ts";
import type { Logger } from "../log/hub.ts";

/** The precision of the times, and so the least time between two writes of the same token. */
const precisionMs = 60_000;
/** The longest time that `close` waits for the last write: a database that does not answer must not delay a stop. */
const closeTimeoutMs = 1000;

interface TokenUsesOptions {
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * TokenUses remembers when tokens were used, to the minute, and writes that to the database in the background, all tokens at once.
 * No call waits for it or fails because of it; a write that fails is dropped. On SQLite a write makes the kept rows be read again,
 * another reason for a minute between two.
 */
export class TokenUses {
  readonly #rows: TokenUseRows;
  readonly #log: Logger;
  readonly #clock: Clock;
  /** Recent uses in Unix milliseconds by the tokens' ids; and those of them that are not written yet. */
  readonly #recent = new Map<number, number>();
  #unwritten = new Map<number, number>();
  /** Due a while after the first use that is not written. */
  readonly #writing: Task;

  constructor(rows: TokenUseRows, { log, clock }: TokenUsesOptions) {
    this.#rows = rows;
    this.#log = log;
    this.#clock = clock;
    this.#writing = new Task({
      clock,
      closeMs: Number.POSITIVE_INFINITY,
      run: async () => {
        try {
          await this.#write();
        } finally {
          this.#forgetOld(this.#clock.now());
        }
      },
      failed: (error) => this.#notStored(error),
    });
  }

  /** Records that a token was used at `now`. Called for every request with a token, so mostly it only looks into a map. */
  record(id: number, now: number): void {
    const last = this.#recent.get(id);
    if (last !== undefined && now >= last && now - last < precisionMs) return;
    this.#recent.set(id, now);
    this.#unwritten.set(id, now);
    this.#writing.dueIn(precisionMs);
  }

  /** Returns when a token was last used: the later of `stored` and what this server knows. */
  lastUse(id: number, stored: number | null): number | null {
    const recent = this.#recent.get(id);
    if (recent === undefined) return stored;
    return stored === null ? recent : Math.max(stored, recent);
  }

  /** Writes what is not written yet, unless the database takes too long. Never rejects. */
  async close(): Promise<void> {
    const written = this.#writing.close().then(() => this.#write());
    await atMost(
      written.catch((error) => this.#notStored(error)),
      { ms: closeTimeoutMs },
    );
  }

  async #write(): Promise<void> {
    if (this.#unwritten.size === 0) return;
    const uses = this.#unwritten;
    this.#unwritten = new Map();
    await this.#rows.store(uses);
  }

  #notStored(error: unknown): void {
    this.#log.debug("the times of the tokens' last use were not stored", { reason: messageOf(error) });
  }

  /** Forgets uses that no longer suppress others. They are written, or dropped. */
  #forgetOld(now: number): void {
    for (const [id, usedAt] of this.#recent)
      if (now - usedAt >= precisionMs && !this.#unwritten.has(id)) this.#recent.delete(id);
  }
}
