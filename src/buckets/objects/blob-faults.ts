import { Fault } from "../../base/fault.ts";

export interface StoreFaultOptions {
  /** The detail for clients, who cannot change the configuration or the network of the server. */
  readonly publicDetail: string;
  readonly reason?: "unavailable" | "disk_full" | "blob_missing";
  readonly blob?: string;
  readonly cause?: unknown;
}

/** StoreFault is a failure of the blob store. Its detail is for the operator, and has advice about the configuration. */
export class StoreFault extends Fault {
  readonly publicDetail: string;

  constructor(detail: string, { publicDetail, reason, blob, cause }: StoreFaultOptions) {
    const data = { ...(reason !== undefined && { reason }), ...(blob !== undefined && { blob }) };
    super("IoError", detail, data, { cause });
    this.publicDetail = publicDetail;
  }
}

/** publicDetailOf is the detail of a fault as strangers may read it. */
export function publicDetailOf(fault: Fault): string {
  return fault instanceof StoreFault ? fault.publicDetail : fault.detail;
}

/** BlobMissingFault says that the store answers, but does not hold a blob that the database names, or holds other content under its key. */
export class BlobMissingFault extends StoreFault {
  constructor(key: string, options: { readonly problem?: string; readonly cause?: unknown } = {}) {
    const { problem = "missing from the store", cause } = options;
    const publicDetail = `the content of the file is ${problem}`;
    super(`${publicDetail}; restore it from a backup, or upload the file again`, {
      publicDetail,
      reason: "blob_missing",
      blob: key,
      cause,
    });
  }
}

/** BlobDamagedFault says that a blob does not have the size or hash that the database names. It may have been damaged on its way only. */
export class BlobDamagedFault extends BlobMissingFault {
  constructor(key: string) {
    super(key, { problem: "damaged in the store" });
  }
}

/**
 * storeUnavailable is the Fault of a store that cannot be reached, or does not answer in time. It passes by itself, or an
 * operator ends it.
 */
export function storeUnavailable(detail: string, cause?: unknown): StoreFault {
  return new StoreFault(detail, {
    publicDetail: "the store of the files does not answer",
    reason: "unavailable",
    cause,
  });
}

/** storeUnusable is the Fault of a store that refuses until an operator has changed something. */
export function storeUnusable(detail: string, cause?: unknown): StoreFault {
  return new StoreFault(detail, { publicDetail: "the store of the files cannot be used now", cause });
}
