import { atMost, type Clock } from "../base/clock.ts";
import { messageOf } from "../base/fault.ts";
import type { TokenUseRows } from "../db/rows/token-rows.ts";
import type { Logger } from "../log/hub.ts";
import { outsideSpans } from "../log/span.ts";

/** The precision of the times, and so the least time between two writes of the same token. */
const precisionMs = 60_000;
/** The longest time that `close` waits for the last write: a database that does not answer must not delay a stop. */
const closeTimeoutMs = 1000;

export interface TokenUsesOptions {
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
  /** Set from the first use until that is written. */
  #timer: Disposable | undefined;
  #lastWrite = Promise.resolve();
  #closed = false;

  constructor(rows: TokenUseRows, { log, clock }: TokenUsesOptions) {
    this.#rows = rows;
    this.#log = log;
    this.#clock = clock;
  }

  /** Records that a token was used at `now`. Called for every request with a token, so mostly it only looks into a map. */
  record(id: number, now: number): void {
    const last = this.#recent.get(id);
    if (last !== undefined && now >= last && now - last < precisionMs) return;
    this.#recent.set(id, now);
    this.#unwritten.set(id, now);
    if (this.#timer === undefined) this.#schedule();
  }

  /** Returns when a token was last used: the later of `stored` and what this server knows. */
  lastUse(id: number, stored: number | null): number | null {
    const recent = this.#recent.get(id);
    if (recent === undefined) return stored;
    return stored === null ? recent : Math.max(stored, recent);
  }

  /** Writes what is not written yet, unless the database takes too long. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.[Symbol.dispose]();
    const written = this.#lastWrite.then(() => this.#write());
    await atMost(written, { ms: closeTimeoutMs });
  }

  #schedule(): void {
    if (this.#closed) return;
    // Outside of the call that begins it: its log entries must not name that call.
    this.#timer = outsideSpans(() =>
      this.#clock.after(precisionMs, async () => {
        this.#lastWrite = this.#write();
        await this.#lastWrite;
        this.#forgetOld(this.#clock.now());
        this.#timer = undefined;
        if (this.#unwritten.size > 0) this.#schedule();
      }),
    );
  }

  async #write(): Promise<void> {
    if (this.#unwritten.size === 0) return;
    const uses = this.#unwritten;
    this.#unwritten = new Map();
    try {
      await this.#rows.store(uses);
    } catch (error) {
      this.#log.debug("the times of the tokens' last use were not stored", { reason: messageOf(error) });
    }
  }

  /** Forgets uses that no longer suppress others. They are written, or dropped. */
  #forgetOld(now: number): void {
    for (const [id, usedAt] of this.#recent)
      if (now - usedAt >= precisionMs && !this.#unwritten.has(id)) this.#recent.delete(id);
  }
}
