import { test } from "bun:test";
import type { BlobStore } from "../../src/blobs/blob-store.ts";
import { FolderBlobs } from "../../src/blobs/folder.ts";
import { S3Blobs, type S3BlobsOptions } from "../../src/blobs/s3.ts";
import { memoryKind } from "./memory-blobs.ts";
import { tempFolder } from "./node.ts";
import { hasSeaweed, seaweed } from "./seaweed.ts";

export interface TestBlobs extends AsyncDisposable {
  readonly store: BlobStore;
}

/** A signal that is never aborted. */
export const never = new AbortController().signal;

async function folderBlobs(): Promise<TestBlobs> {
  const folder = await tempFolder();
  const store = new FolderBlobs(folder.path, { sync: true });
  await store.check(never);
  return { store, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

/** An S3 store with a prefix of the test's own. */
export async function s3Blobs(options: Partial<S3BlobsOptions> = {}): Promise<S3Blobs> {
  const { location } = await seaweed();
  return new S3Blobs({ ...location, prefix: crypto.randomUUID(), requestTimeoutMs: 30_000, ...options });
}

async function memoryBlobs(): Promise<TestBlobs> {
  const url = `memory://${crypto.randomUUID()}`;
  const store = memoryKind.open({ url, memory_password: "open", request_timeout_ms: 1000 }, { sync: true });
  return { store, async [Symbol.asyncDispose]() {} };
}

const kinds: Readonly<Record<string, () => Promise<TestBlobs>>> = {
  folder: folderBlobs,
  memory: memoryBlobs,
  ...(hasSeaweed && { s3: async () => ({ store: await s3Blobs(), [Symbol.asyncDispose]: async () => {} }) }),
};

/** The same story on every kind of blob store, or on all but the one in memory. */
export function eachBlobStore(
  title: string,
  story: (store: BlobStore) => Promise<void>,
  { timeoutMs, inMemory = true }: { readonly timeoutMs?: number; readonly inMemory?: boolean } = {},
): void {
  for (const [kind, open] of Object.entries(kinds))
    if (inMemory || open !== memoryBlobs)
      test(
        `${title} (${kind})`,
        async () => {
          await using blobs = await open();
          await story(blobs.store);
        },
        timeoutMs,
      );
}

export async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

/** Everything that a store lists, in its order. */
export async function listed(store: BlobStore, after?: string): Promise<string[]> {
  return (await Array.fromAsync(store.list(after))).flat().map(({ key }) => key);
}

export async function textOf(
  store: BlobStore,
  key: string,
  range?: { start: number; end: number },
): Promise<string> {
  return new Response(await store.get(key, range, never)).text();
}

export function sha256(content: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(content).digest("hex");
}

/** The entity tag of a file in an object store, by the SHA-256 of its content. */
export function etagOf(hash: string): string {
  return `"${Buffer.from(hash, "hex").toString("base64url")}"`;
}
