import { Fault } from "../../base/fault.ts";
import {
  type BucketEntry,
  type BucketFiles,
  bodyPieces,
  FileDenied,
  FileNotFound,
  type NodeServerClient,
  NotFound,
  PermissionDenied,
  RpcError,
  toUnreachable,
} from "../../client/index.ts";
import { fetchOf } from "../remote/remote.ts";

export interface RemoteFile {
  readonly size: number;
  /** Unix milliseconds. */
  readonly mtime: number;
}

export type RemoteTree = ReadonlyMap<string, RemoteFile>;

/** Lists every file of a bucket. `missing` is the advice in the error when the bucket does not exist. */
export async function listRemote(
  client: NodeServerClient,
  bucket: string,
  { missing, signal }: { readonly missing: string; readonly signal: AbortSignal },
): Promise<RemoteTree> {
  try {
    const listed = await client.call("static-bucket-file_list", { name: bucket }, { signal });
    return new Map(listed.map(({ path, size, mtime }) => [path, { size, mtime }]));
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    throw new Fault("NotFound", `the server has no bucket ${bucket}; ${missing}`);
  }
}

/** `sameTime` returns whether two times are equal, apart from rounding: `x-oc-mtime` is in seconds with a fraction. */
export function sameTime(a: number, b: number): boolean {
  return Math.abs(a - b) <= 2;
}

export function sameRemote(a: RemoteFile | undefined, b: RemoteFile | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.size === b.size && sameTime(a.mtime, b.mtime);
}

/** Lists the parent folders of these paths, and theirs. */
export function foldersOf(paths: Iterable<string>): Set<string> {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      const folder = path.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return folders;
}

/** Yields a file of the bucket. A connection that breaks meanwhile is an error, never the end of the file. */
export async function* contentOf(
  files: FileSource,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield* bodyPieces(await files.open(path, { signal }), { path, signal });
}

export async function hashRemote(files: FileSource, path: string, signal: AbortSignal): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const part of contentOf(files, path, signal)) hasher.update(part);
  return hasher.digest("hex");
}

/** FileSource is what reading the files of a bucket takes. */
export type FileSource = Pick<BucketFiles, "find" | "list" | "open">;

type ReadOptions = Parameters<BucketFiles["open"]>[1];

/** Larger files are read through a signed link, because an answer of RPC is in memory as a whole. */
const maxRpcBytes = 4 * 1024 * 1024;
const linkSeconds = 3600;

/**
 * BucketReader reads a bucket by WebDAV, as everything else transfers files. WebDAV requires all four permissions; with a token that has
 * fewer, it lists and reads by RPC. Then it does not see empty folders.
 */
export class BucketReader implements FileSource {
  readonly #client: NodeServerClient;
  readonly #bucket: string;
  readonly #webdav: BucketFiles;
  /** Whether WebDAV has refused the token. */
  #isRefused = false;
  #listing: Promise<RemoteTree> | undefined;

  constructor(client: NodeServerClient, bucket: string) {
    this.#client = client;
    this.#bucket = bucket;
    this.#webdav = client.bucket(bucket);
  }

  find(path: string, options?: ReadOptions): Promise<BucketEntry | undefined> {
    return this.#either(
      () => this.#webdav.find(path, options),
      async () => {
        const listing = await this.#list().catch(undefinedIfMissing);
        if (listing === undefined) return undefined;
        const file = listing.get(path);
        const name = path.slice(path.lastIndexOf("/") + 1);
        if (file !== undefined) return fileEntry(name, file);
        const below = [...listing].filter(([other]) => path === "" || other.startsWith(`${path}/`));
        if (below.length === 0 && path !== "") return undefined;
        return folderEntry(name, Math.max(0, ...below.map(([, { mtime }]) => mtime)));
      },
    );
  }

  list(folder: string, options?: ReadOptions): Promise<BucketEntry[]> {
    return this.#either(
      () => this.#webdav.list(folder, options),
      async () => {
        const prefix = folder === "" ? "" : `${folder}/`;
        const folders = new Map<string, number>();
        const files: BucketEntry[] = [];
        for (const [path, file] of await this.#list()) {
          if (!path.startsWith(prefix)) continue;
          const [name = "", ...more] = path.slice(prefix.length).split("/");
          if (more.length === 0) files.push(fileEntry(name, file));
          else folders.set(name, Math.max(folders.get(name) ?? 0, file.mtime));
        }
        return [...[...folders].map(([name, mtime]) => folderEntry(name, mtime)), ...files];
      },
    );
  }

  open(path: string, options: ReadOptions = {}): Promise<Response> {
    return this.#either(
      () => this.#webdav.open(path, options),
      async () => {
        const { size = 0 } = (await this.#listIfAllowed())?.get(path) ?? {};
        return size > maxRpcBytes ? this.#openByLink(path, options) : this.#openByRpc(path, options);
      },
    );
  }

  /** Asks by WebDAV, and by RPC as soon as that has refused the token. */
  async #either<T>(byWebdav: () => Promise<T>, byRpc: () => Promise<T>): Promise<T> {
    if (!this.#isRefused)
      try {
        return await byWebdav();
      } catch (error) {
        // 401 is a token that is not valid anywhere.
        if (!(error instanceof FileDenied) || error.status !== 403) throw error;
        this.#isRefused = true;
      }
    return byRpc();
  }

  #list(): Promise<RemoteTree> {
    this.#listing ??= this.#client
      .call("static-bucket-file_list", { name: this.#bucket })
      .then((files) => new Map(files.map((file) => [file.path, file])));
    return this.#listing;
  }

  async #listIfAllowed(): Promise<RemoteTree | undefined> {
    try {
      return await this.#list();
    } catch (error) {
      if (error instanceof PermissionDenied) return undefined;
      throw error;
    }
  }

  async #openByRpc(path: string, { signal }: NonNullable<ReadOptions>): Promise<Response> {
    try {
      const text = await this.#client.call(
        "static-bucket-file_read",
        { name: this.#bucket, path },
        { signal },
      );
      return new Response(Buffer.from(text, "base64"));
    } catch (error) {
      if (error instanceof NotFound) throw new FileNotFound(error.detail, 404);
      if (error instanceof RpcError && error.kind === "ResponseTooBig")
        return this.#openByLink(path, { signal });
      throw error;
    }
  }

  async #openByLink(path: string, { signal }: NonNullable<ReadOptions>): Promise<Response> {
    const params = { name: this.#bucket, path, expires_in: linkSeconds, listed: false };
    const { address } = await this.#client.call("static-bucket-file_link", params, { signal });
    const url = this.#client.url + address;
    const response = await fetchOf(this.#client)(url, signal === undefined ? {} : { signal }).catch(
      (error: unknown) => {
        throw signal?.aborted ? signal.reason : toUnreachable(this.#client.url, error);
      },
    );
    if (response.ok) return response;
    throw new Fault("Other", `${path} cannot be read: the server answers ${response.status}`);
  }
}

function fileEntry(name: string, { size, mtime }: RemoteFile): BucketEntry {
  return { name, folder: false, size, modified: new Date(mtime), etag: "" };
}

function folderEntry(name: string, mtime: number): BucketEntry {
  return { name, folder: true, size: undefined, modified: new Date(mtime), etag: undefined };
}

/** The bucket does not exist. */
function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof NotFound)) throw error;
}
