import type { z } from "zod";
import type { Key } from "../base/config-key.ts";
import { Fault } from "../base/fault.ts";
import type { BlobStore } from "./blob-store.ts";
import type { ContentSource } from "./content.ts";

type Keys = Readonly<Record<string, Key>>;

/** SettingsOf is what a checked configuration has for some keys. It can be sent to another process as JSON. */
export type SettingsOf<K extends Keys> = z.output<
  z.ZodObject<{ -readonly [Name in keyof K]: K[Name]["type"] }>
>;

/** CommonSettings are the keys of the table `[files]` of the configuration that a store of any kind may need. */
export type CommonSettings = {
  readonly url: string;
  readonly request_timeout_ms: number;
};

export interface OpenBlobsOptions {
  /** Whether content is on the disk, and not only in its cache, before an upload is answered. A remote store decides that itself. */
  readonly sync: boolean;
  /** Whether the database names content in it: a folder without any is then one that is not mounted. */
  readonly holdsContent?: boolean;
}

/** OpenedBlobs is a blob store, and what sends its content if that is in a folder. Without, content is sent through a cache. */
export interface OpenedBlobs extends BlobStore {
  readonly content?: ContentSource;
}

/** BlobKind is one kind of blob store: all that the configuration, the commands and the server know about it. */
export interface BlobKind<K extends Keys = Keys> {
  /** What its URLs begin with, without the colon. */
  readonly scheme: string;
  /** The form of its URLs, for people. */
  readonly form: string;
  /** The keys of `[files]` that only this kind has. */
  readonly keys: K;
  /** Variables of the environment, each with the key that it stands in for if that is not set. */
  readonly variables?: Readonly<Record<string, keyof K & string>>;
  /** Throws InvalidInput for a URL with this scheme that names no store, without its text, which may contain a secret. */
  checkUrl(url: string): void;
  /** What the settings lack, as a sentence behind the name of the key `url`; undefined if they are complete. */
  missing?(settings: SettingsOf<K>): string | undefined;
  /** The absolute folder of a store that is a folder. A kind without this method is remote: its content is cached on the local disk. */
  folderOf?(url: string): string;
  /** Opens a store. It asks the store for nothing; `BlobStore.check` does. */
  open(settings: CommonSettings & SettingsOf<K>, options: OpenBlobsOptions): OpenedBlobs;
}

/** wrongUrl returns the Fault of a URL that names no store; `why` is a sentence behind the name of the key. */
export function wrongUrl(why: string): Fault {
  return new Fault("InvalidInput", why, { field: "files.url" });
}
