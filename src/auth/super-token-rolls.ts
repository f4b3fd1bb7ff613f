import { z } from "zod";
import { atMost, type Clock } from "../base/clock.ts";
import { messageOf } from "../base/fault.ts";
import { type KvRows, superTokenRolls } from "../db/kv-rows.ts";
import type { Logger } from "../log/hub.ts";
import { outsideSpans, quietly } from "../log/span.ts";
import type { AuditLog } from "./audit-log.ts";

const everyMs = 5000;
/** A database that does not answer must not delay a stop. */
const closeTimeoutMs = 1000;

const notes = z.record(z.string(), z.object({ at: z.string() }));

export interface SuperTokenRollsOptions {
  readonly kv: KvRows;
  readonly audit: AuditLog;
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * SuperTokenRolls audits what `roll-super-token` did. That is a process of its own, which may run while no server does, so it leaves a note
 * in the database; a server looks for notes at its start and every few seconds, records them and removes them.
 */
export class SuperTokenRolls {
  readonly #options: SuperTokenRollsOptions;
  #timer: Disposable | undefined;
  #lastLook = Promise.resolve();

  constructor(options: SuperTokenRollsOptions) {
    this.#options = options;
  }

  start(): void {
    let isLooking = false;
    const look = () => {
      if (isLooking) return;
      isLooking = true;
      this.#lastLook = this.#look().finally(() => {
        isLooking = false;
      });
    };

    // Its entries are not about the call or the reload that began it.
    outsideSpans(() => {
      look();
      this.#timer = this.#options.clock.every(everyMs, look);
    });
  }

  /** Ends the looking; waits for a look under way, unless the database takes too long. Never rejects. */
  async close(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    await atMost(this.#lastLook, { ms: closeTimeoutMs });
  }

  async #look(): Promise<void> {
    const { kv, audit, log } = this.#options;
    try {
      // A look every few seconds is nothing that the log should show.
      const taken = await quietly(async () =>
        (await kv.isEmpty(superTokenRolls)) ? undefined : await kv.takeAll(superTokenRolls),
      );
      if (taken === undefined) return;
      const found = notes.parse(taken);
      for (const [key, { at }] of Object.entries(found)) audit.superTokenRolled(key, at);
    } catch (error) {
      log.debug("notes of roll-super-token were not read", { reason: messageOf(error) });
    }
  }
}
