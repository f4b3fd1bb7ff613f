import type { Clock } from "../../base/clock.ts";
import { Fault, messageOf } from "../../base/fault.ts";
import type { Logger } from "../../log/hub.ts";
import { StoreWatch } from "../store-watch.ts";
import type { BlobStore } from "./blob-store.ts";

/** The interval of the looks that nobody asked for. Each is a handful of requests, which an S3 store may charge for. */
const intervalMs = 30_000;
/** An S3 store that was usable so short a time ago is not asked again, however often readiness is asked for. */
const minS3PauseMs = 5000;
/** A store that does not answer for this long is lost. */
const maxLookMs = 5000;
const lateReason = "the store does not answer; check its network, or the mount of its folder";

export interface BlobWatchOptions {
  /** `[files] url`, which contains no secret. */
  readonly url: string;
  readonly log: Logger;
  readonly clock: Clock;
}

/** watchBlobs reports that a blob store is lost and that it has returned: it writes, reads, lists and deletes a small blob. */
export function watchBlobs(blobs: BlobStore, { url, log, clock }: BlobWatchOptions): StoreWatch {
  const pauseMs = url.startsWith("s3:") ? minS3PauseMs : 0;
  let usableAt = Number.NEGATIVE_INFINITY;
  return new StoreWatch({
    what: "the store of the files",
    where: { url },
    async examine() {
      if (clock.monotonic() - usableAt < pauseMs) return undefined;
      const deadline = AbortSignal.timeout(maxLookMs);
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
    maxLookMs,
    lateReason,
    log,
    clock,
  });
}
