import { Fault } from "../base/fault.ts";
import type { Logger } from "../log/hub.ts";
import type { Buckets } from "./buckets.ts";

/** Buckets that are named in a message. */
const maxNamed = 20;

export interface ExaminePlacesOptions {
  /** `[files] url` of the store; undefined for plain files. */
  readonly url: string | undefined;
  /** The buckets in use, which are about to be replaced by those of another store; undefined at a start. */
  readonly former: Buckets | undefined;
  readonly log: Logger;
}

/**
 * examinePlaces looks for buckets whose files are in another store. A reload onto a store that lacks what the present one has is
 * refused: every request for these files would fail. A start goes on with a warning, because the other buckets can be served.
 */
export async function examinePlaces(
  buckets: Buckets,
  { url, former, log }: ExaminePlacesOptions,
): Promise<void> {
  if (former === undefined && url === undefined) return;
  const missingBefore = (await former?.withoutPlace()) ?? [];
  const missing = (await buckets.withoutPlace()).filter((name) => !missingBefore.includes(name));
  if (missing.length === 0) return;
  const named = missing.slice(0, maxNamed);
  const command = `node-server migrate --files ${url ?? "disk"}`;
  if (former !== undefined) {
    const store = url === undefined ? "static_path" : "the store that files.url names";
    const more = missing.length > named.length ? ` and ${missing.length - named.length} more` : "";
    throw new Fault(
      "InvalidInput",
      `${store} has no files of these buckets: ${named.join(", ")}${more}; copy them with \`${command}\` before files.url is changed`,
      { field: "files.url" },
    );
  }
  log.event(
    "store.buckets_missing",
    `the store of the files has no place for some buckets, and requests for their files fail; \`${command}\` copies the files of another store`,
    { url: url ?? "", buckets: named, count: missing.length },
  );
}
