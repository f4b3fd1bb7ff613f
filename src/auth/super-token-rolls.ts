import { z } from "zod";
import { messageOf } from "../base/fault.ts";
import { type KvRows, superTokenRolls } from "../db/kv-rows.ts";
import type { Logger } from "../log/hub.ts";
import { outsideSpans, quietly } from "../log/span.ts";
import type { AuditLog } from "./audit-log.ts";

const defaultEveryMs = 5000;
/** A database that does not answer must not delay a stop. */
const closeTimeoutMs = 1000;

const notes = z.record(z.string(), z.object({ at: z.string() }));

export interface SuperTokenRollsOptions {
  readonly kv: KvRows;
  readonly audit: AuditLog;
  readonly log: Logger;
  /** Default: 5 seconds. */
  readonly everyMs?: number;
}

/**
 * SuperTokenRolls audits what `roll-super-token` did. That is a process of its own, which may run while no server does, so it leaves a note
 * in the database; a server looks for notes at its start and every few seconds, records them and removes them.
 */
export class SuperTokenRolls {
  readonly #options: SuperTokenRollsOptions;
  #timer: Timer | undefined;
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
      this.#timer = setInterval(look, this.#options.everyMs ?? defaultEveryMs).unref();
    });
  }

  /** Ends the looking; waits for a look under way, unless the database takes too long. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, closeTimeoutMs);
    await Promise.race([this.#lastLook, late]);
    clearTimeout(timer);
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
