import { parseFilesUrl } from "../base/files-url.ts";
import type { Logger } from "../log/hub.ts";
import type { BlobStore } from "./blob-store.ts";
import { BlobCache } from "./cache.ts";
import type { ContentSource } from "./content.ts";
import { FolderBlobs } from "./folder.ts";
import { S3Blobs } from "./s3.ts";

/** The region that S3-compatible stores expect if they have none. */
const defaultRegion = "us-east-1";

/**
 * BlobSettings are the keys of the table `[files]` of the configuration that name a blob store. They can be sent to another
 * process as JSON.
 */
export interface BlobSettings {
  readonly url: string;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly access_key_id?: string | undefined;
  readonly secret_access_key?: string | undefined;
  readonly path_style: boolean;
  readonly request_timeout_ms: number;
}

interface OpenBlobsOptions {
  /** Whether content is on the disk, and not only in its cache, before an upload is answered. An S3 store decides that itself. */
  readonly sync: boolean;
  /** Whether the database names content in it: a folder without any is then one that is not mounted. */
  readonly holdsContent?: boolean;
}

/** openBlobs opens the blob store that the settings name. It asks the store for nothing; `BlobStore.check` does. */
export function openBlobs(settings: BlobSettings, options: OpenBlobsOptions): BlobStore {
  const location = parseFilesUrl(settings.url);
  if ("folder" in location) return new FolderBlobs(location.folder, options);
  return new S3Blobs({
    ...location.s3,
    endpoint: settings.endpoint,
    region: settings.region ?? defaultRegion,
    accessKeyId: settings.access_key_id ?? "",
    secretAccessKey: settings.secret_access_key ?? "",
    pathStyle: settings.path_style,
    requestTimeoutMs: settings.request_timeout_ms,
  });
}

/** The time that a store has to prove at a start, or for a command, that it can be used. */
const proofTimeoutMs = 30_000;

/** proveBlobs throws what an operator has to do if the store cannot be read, written, listed and deleted from. */
export async function proveBlobs(blobs: BlobStore, signal?: AbortSignal): Promise<void> {
  const deadline = AbortSignal.timeout(proofTimeoutMs);
  await blobs.check(signal === undefined ? deadline : AbortSignal.any([signal, deadline]));
}

interface ContentOptions {
  /** `cache_path`, absolute. */
  readonly path: string;
  readonly maxBytes: number;
  readonly log: Logger;
}

/** openContent opens what sends the blobs of a store: from the folder that they are in, or through a cache on the local disk. */
export function openContent(
  store: BlobStore,
  { path, maxBytes, log }: ContentOptions,
): ContentSource & { close?(): void } {
  if (store instanceof FolderBlobs) return store.content;
  return new BlobCache({ store, path, maxBytes, log });
}
