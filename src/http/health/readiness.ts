import { messageOf } from "../../base/fault.ts";
import type { Logger } from "../../log/hub.ts";
import type { Lease } from "../../rpc/lease.ts";
import type { Services } from "../../services.ts";

/** RequiredPart is what a server needs to be ready. `draining`: it is up, but stops or restarts shortly. */
export type RequiredPart = "database" | "store" | "draining";

/** A check is valid for this long, however many requests come. */
const validMs = 1000;
/** A database that has not answered after this time is missing. */
const maxAnswerMs = 2000;

export interface ReadinessOptions {
  readonly acquire: () => Lease<Services>;
  readonly log: Logger;
}

/** Readiness tells whether the server can do its work. It asks the database and the store for real, at most once a second. */
export class Readiness {
  readonly #options: ReadinessOptions;
  #isDraining = false;
  #checking: Promise<readonly RequiredPart[]> | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #missing: readonly RequiredPart[] = [];
  /** A statement that the database has not answered yet; no second one is sent meanwhile. */
  #asking: Promise<boolean> | undefined;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** Makes the server not ready from now on: it stops or restarts, and clients should go elsewhere. */
  startDraining(): void {
    this.#isDraining = true;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Returns what is missing; nothing if the server is ready. Does not reject. */
  async missing(): Promise<readonly RequiredPart[]> {
    const missing = performance.now() - this.#checkedAt < validMs ? this.#missing : await this.#shared();
    return this.#isDraining ? [...missing, "draining"] : missing;
  }

  #shared(): Promise<readonly RequiredPart[]> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #check(): Promise<readonly RequiredPart[]> {
    const startedAt = performance.now();
    const { services, release } = this.#options.acquire();
    try {
      const { store } = services.buckets;
      const [hasDatabase] = await Promise.all([this.#hasDatabase(services), store.look()]);
      const missing: RequiredPart[] = [];
      if (!hasDatabase) missing.push("database");
      if (store.isLost) missing.push("store");
      this.#missing = missing;
      this.#checkedAt = startedAt;
      return missing;
    } finally {
      release();
    }
  }

  async #hasDatabase({ database }: Services): Promise<boolean> {
    this.#asking ??= database
      .ping()
      .then(
        () => true,
        (error: unknown) => {
          // Losses have log lines of their own.
          this.#options.log.debug("the readiness check failed", { reason: messageOf(error) });
          return false;
        },
      )
      .finally(() => {
        this.#asking = undefined;
      });
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), maxAnswerMs);
    const answered = await Promise.race([this.#asking, late]);
    clearTimeout(timer);
    return answered;
  }
}
