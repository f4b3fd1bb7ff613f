import type { Logger } from "../log/hub.ts";
import {
  type BlobKind,
  type CommonSettings,
  type OpenBlobsOptions,
  type OpenedBlobs,
  type SettingsOf,
  wrongUrl,
} from "./blob-kind.ts";
import type { BlobStore } from "./blob-store.ts";
import { BlobCache } from "./cache.ts";
import type { ContentSource } from "./content.ts";
import { folderKind } from "./folder.ts";
import { s3Kind } from "./s3.ts";

/** The kinds of blob stores. To add one, write a file that exports it and add its row. */
const kinds = [folderKind, s3Kind];

/** Joined is the type with the members of all types of a union. */
type Joined<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** blobKinds are the rows, each as what all kinds have in common. */
export const blobKinds: readonly BlobKind[] = kinds;

type BlobKeys = Joined<(typeof kinds)[number]["keys"]>;

/** blobKeys returns the keys of `[files]` that only one kind has, of all kinds. */
export function blobKeys(): BlobKeys {
  return Object.assign({}, ...blobKinds.map(({ keys }) => keys));
}

/** KindSettings are their values. */
export type KindSettings = SettingsOf<BlobKeys>;

/** BlobSettings are the keys of `[files]` that name a blob store of any kind. They can be sent to another process as JSON. */
export type BlobSettings = CommonSettings & KindSettings;

/** urlForms returns how URLs of blob stores are written, for messages. */
function urlForms(): string {
  return blobKinds.map(({ form }) => `"${form}"`).join(" or ");
}

/** findKind returns the kind of store that a value of `url` would name, valid or not; undefined if it names none. */
export function findKind(url: unknown): BlobKind | undefined {
  return typeof url === "string" ? blobKinds.find(({ scheme }) => url.startsWith(`${scheme}:`)) : undefined;
}

/** kindOf returns the kind of store that a URL names. Throws InvalidInput, without the text, if it names none. */
export function kindOf(url: string): BlobKind {
  const kind = findKind(url);
  if (kind === undefined)
    throw wrongUrl(`must be ${urlForms()}; without one, files are plain files below static_path`);
  kind.checkUrl(url);
  return kind;
}

/** openBlobs opens the blob store that the settings name. It asks the store for nothing; `BlobStore.check` does. */
export function openBlobs(settings: BlobSettings, options: OpenBlobsOptions): OpenedBlobs {
  return kindOf(settings.url).open(settings, options);
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
  store: OpenedBlobs,
  { path, maxBytes, log }: ContentOptions,
): ContentSource & { close?(): void } {
  return store.content ?? new BlobCache({ store, path, maxBytes, log });
}
