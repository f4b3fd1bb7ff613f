import { atMost, type Clock } from "../../base/clock.ts";
import { Fault, messageOf } from "../../base/fault.ts";
import { Watch } from "../../base/task.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import { kindOf } from "../../blobs/open-blobs.ts";
import type { Logger } from "../../log/hub.ts";
import type { DiskSpace, StoreHealth } from "../ports.ts";

/** StoreProblem says why a store cannot be used. */
export interface StoreProblem {
  readonly reason: string;
  /** Whether all its files seem deleted. */
  readonly isMissing: boolean;
  /** Whether it does not answer at all, so that nothing need be tried. */
  readonly isAway?: boolean;
}

interface StoreWatchOptions {
  /** What is checked, for log lines, for instance "the folder of the buckets". */
  readonly what: string;
  /** Its address, for log lines. */
  readonly where: { readonly static_path: string } | { readonly url: string };
  /** Returns undefined if the store can be used. Must not reject. */
  readonly examine: () => Promise<StoreProblem | undefined>;
  /** The interval of the checks. */
  readonly intervalMs: number;
  /** A store that does not answer for this long is lost. */
  readonly maxCheckMs: number;
  /** What to report then. */
  readonly lateReason: string;
  readonly space?: () => DiskSpace | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

/** StoreWatch checks a store regularly and on request. A loss and a return are one log line each. */
export class StoreWatch implements StoreHealth {
  readonly #options: StoreWatchOptions;
  readonly #watch: Watch<StoreProblem>;
  #checking: Promise<void> | undefined;

  constructor(options: StoreWatchOptions) {
    const { what, where, log, clock, intervalMs: everyMs } = options;
    this.#options = options;
    this.#watch = new Watch({
      clock,
      everyMs,
      check: () => this.check(),
      lost: ({ reason }) =>
        log.event("store.lost", `${what} cannot be used; requests for files may fail`, { ...where, reason }),
      restored: (lost_ms) => log.event("store.restored", `${what} can be used again`, { ...where, lost_ms }),
    });
  }

  get losses(): number {
    return this.#watch.losses;
  }

  get isLost(): boolean {
    return this.#watch.isLost;
  }

  get isMissing(): boolean {
    return this.#watch.problem?.isMissing ?? false;
  }

  get isAway(): boolean {
    return this.#watch.problem?.isAway ?? false;
  }

  get space(): DiskSpace | undefined {
    return this.#options.space?.();
  }

  async check(): Promise<void> {
    const checking = this.#checking ?? this.#start();
    const outcome = await atMost(checking, { ms: this.#options.maxCheckMs, late: "late" as const });
    if (outcome === "late" && this.#checking === checking)
      this.#watch.conclude({ reason: this.#options.lateReason, isMissing: false, isAway: true });
  }

  close(): void {
    this.#watch.close();
  }

  #start(): Promise<void> {
    this.#checking = this.#options.examine().then((problem) => {
      this.#checking = undefined;
      this.#watch.conclude(problem);
    });
    return this.#checking;
  }
}

/** The interval of the checks that nobody asked for. Each is a handful of requests, which a remote store may charge for. */
const intervalMs = 30_000;
/** A remote store that was usable within this time is not checked again, however often readiness is asked for. */
const minRemotePauseMs = 5000;
/** A store that does not answer for this long is lost. */
const maxCheckMs = 5000;
const lateReason = "the store does not answer; check its network, or the mount of its folder";

interface BlobWatchOptions {
  /** `[files] url`, which contains no secret. */
  readonly url: string;
  readonly log: Logger;
  readonly clock: Clock;
}

/** watchBlobs reports that a blob store is lost and that it has returned: it writes, reads, lists and deletes a small blob. */
export function watchBlobs(blobs: BlobStore, { url, log, clock }: BlobWatchOptions): StoreWatch {
  const pauseMs = kindOf(url).folderOf === undefined ? minRemotePauseMs : 0;
  let usableAt = Number.NEGATIVE_INFINITY;
  return new StoreWatch({
    what: "the file store",
    where: { url },
    async examine() {
      if (clock.monotonic() - usableAt < pauseMs) return undefined;
      const deadline = AbortSignal.timeout(maxCheckMs);
      try {
        await blobs.check(deadline);
        usableAt = clock.monotonic();
        return undefined;
      } catch (error) {
        const other = deadline.aborted ? lateReason : messageOf(error);
        const reason = error instanceof Fault ? error.detail : other;
        const isAway = deadline.aborted || (error instanceof Fault && error.data.reason === "unavailable");
        // The names are in the database: no file looks deleted.
        return { reason, isMissing: false, isAway };
      }
    },
    intervalMs,
    maxCheckMs,
    lateReason,
    log,
    clock,
  });
}
