import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { FolderPaths } from "../../src/blobs/folder.ts";
import { folderPath, treePath } from "../../src/buckets/path.ts";
import type { FileReader } from "../../src/buckets/ports.ts";
import { walk } from "../../src/buckets/tree-ops.ts";
import { ObjectEntry } from "../../src/buckets/trees/rows/entry.ts";
import { type ObjectReaders, openObjectReaders } from "../../src/buckets/trees/rows/object-storage.ts";
import { isFolderValue } from "../../src/db/rows/entry-rows.ts";
import { LogHub } from "../../src/log/hub.ts";
import type { Node } from "../../src/node.ts";
import { settingsFor } from "./database-settings.ts";
import type { TestNode } from "./node.ts";
import { webdavSite } from "./webdav.ts";
import { type Contents, staged } from "./webdav-disk.ts";

interface Looks {
  /** Writes files and the folders above them; on a disk past the server. */
  write(files: Readonly<Record<string, string | Uint8Array>>): Promise<void>;
  makeFolder(path: string): Promise<void>;
  /** Removes a file, or a folder with its content; on a disk past the server. */
  remove(path: string): Promise<void>;
  /** Sets the time of a file's last change; on a disk past the server. */
  setModified(path: string, seconds: number): Promise<void>;
  /** The file on this machine's disk that has the content of a file, which may not be empty. */
  contentFile(path: string): Promise<string>;
  exists(path: string): Promise<boolean>;
  stats(path: string): Promise<{ readonly size: number; readonly modifiedMs: number }>;
  bytes(path: string): Promise<Buffer>;
  /**
   * Everything below a folder, by its path there; a folder ends in a slash and has no content. Nothing for a folder that does not
   * exist.
   */
  below(folder: string): Promise<ReadonlyMap<string, Buffer | undefined>>;
  /** What is being uploaded, or was left by an upload. */
  uploads(): string[];
}

/** StoredFiles are the files of a bucket as its store has them, past HTTP: straight from the disk, or from the database and the blobs. */
export interface StoredFiles extends Looks {
  text(path: string): Promise<string>;
  /** Files with their content, folders with a slash, of the bucket or of a folder of it. */
  contents(folder?: string): Promise<Contents>;
  /** Files with the SHA-256 of their content, folders with a slash and the word `folder`, sorted by path. */
  tree(): Promise<Record<string, string>>;
  /** The paths of all files and folders, sorted. */
  paths(): Promise<string[]>;
  /** The names in a folder, sorted. */
  names(folder?: string): Promise<string[]>;
}

export function storedFiles(node: TestNode, bucket = node.bucket): StoredFiles {
  const looks = node.store === "disk" ? onDisk(node, bucket) : inObjects(node, bucket);
  const pathsBelow = async (folder = "") =>
    [...(await looks.below(folder)).keys()].map((path) => path.replace(/\/$/, "")).sort();
  return {
    ...looks,
    text: async (path) => (await looks.bytes(path)).toString(),
    contents: async (folder = "") =>
      Object.fromEntries(
        [...(await looks.below(folder))].map(([path, bytes]) => [path, String(bytes ?? "")]),
      ),
    async tree() {
      const found = [...(await looks.below(""))].sort(([one], [other]) => (one < other ? -1 : 1));
      return Object.fromEntries(found.map(([path, bytes]) => [path, bytes ? sha256(bytes) : "folder"]));
    },
    paths: () => pathsBelow(),
    names: async (folder) => (await pathsBelow(folder)).filter((path) => !path.includes("/")),
  };
}

/** The story's bucket with these files, and what it takes to talk to it over WebDAV and to look at it. */
export async function storedSite(node: TestNode, files: Contents = {}) {
  const site = await webdavSite(node);
  const stored = storedFiles(node);
  await stored.write(files);
  return {
    ...site,
    ...stored,
    to: async (method: "COPY" | "MOVE", from: string, to: string, headers: Record<string, string> = {}) =>
      (await site.dav(method, from, { destination: site.base + to, ...headers })).status,
  };
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function onDisk(node: TestNode, bucket: string): Looks {
  const at = (path: string) => join(node.folder, "static", bucket, path);
  return {
    async write(files) {
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(at(path)), { recursive: true });
        writeFileSync(at(path), content);
      }
    },
    makeFolder: async (path) => void mkdirSync(at(path), { recursive: true }),
    remove: async (path) => rmSync(at(path), { recursive: true }),
    setModified: async (path, seconds) => utimesSync(at(path), seconds, seconds),
    contentFile: async (path) => at(path),
    exists: async (path) => existsSync(at(path)),
    async stats(path) {
      const { size, mtimeMs } = statSync(at(path));
      return { size, modifiedMs: mtimeMs };
    },
    bytes: async (path) => readFileSync(at(path)),
    async below(folder) {
      const top = at(folder);
      const found = existsSync(top) ? readdirSync(top, { recursive: true, withFileTypes: true }) : [];
      return new Map(
        found.map((entry) => {
          const path = join(entry.parentPath, entry.name);
          const name = path.slice(top.length).replace(/^\//, "");
          return entry.isDirectory() ? [`${name}/`, undefined] : [name, readFileSync(path)];
        }),
      );
    },
    uploads: () => staged(node),
  };
}

/** The readers of a node's object store, until the node is closed. */
const readersOf = new WeakMap<Node, Promise<ObjectReaders>>();

async function objectReader(node: TestNode, bucket: string): Promise<FileReader> {
  const opened = readersOf.get(node.node) ?? openReaders(node);
  readersOf.set(node.node, opened);
  return (await opened).readerOf({ name: bucket, path: bucket });
}

async function openReaders(node: TestNode): Promise<ObjectReaders> {
  const readers = await openObjectReaders(
    { url: pathToFileURL(join(node.folder, "blobs")).href, path_style: true, request_timeout_ms: 10_000 },
    settingsFor(node.databaseUrl),
    new LogHub(),
  );
  node.beforeClose(async () => readers[Symbol.asyncDispose]());
  return readers;
}

/** Uploads that are sent at the same time; those of one store are committed together. */
const uploadsAtOnce = 32;
/** The largest content that is sent in a call. */
const maxCallBytes = 1024 * 1024;

function inObjects(node: TestNode, bucket: string): Looks {
  const token = node.superToken;
  const read = async <T>(work: (reader: FileReader) => Promise<T>): Promise<T> =>
    work(await objectReader(node, bucket));
  const bytesIn = async (reader: FileReader, path: string) => {
    await using file = await reader.open(treePath(path));
    return Buffer.from(await file.bytes());
  };
  const dav = async (method: string, path: string, body?: string | Uint8Array) => {
    const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
    const url = `${node.url}/node/static-webdav/${bucket}/${path.split("/").map(encodeURIComponent).join("/")}`;
    const { status } = await fetch(url, { method, headers: { authorization }, ...(body && { body }) });
    return status;
  };
  const succeeds = async (method: string, path: string, body?: string | Uint8Array) => {
    const status = await dav(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path} was answered ${status}`);
  };
  const upload = async (path: string, content: string | Uint8Array) => {
    if (content.length > maxCallBytes) return succeeds("PUT", path, content);
    const base64 = Buffer.from(content).toString("base64");
    await node.call("static-bucket-file_upload", { token, name: bucket, path, base64 });
  };
  return {
    async write(files) {
      const entries = Object.entries(files);
      for (let at = 0; at < entries.length; at += uploadsAtOnce)
        await Promise.all(entries.slice(at, at + uploadsAtOnce).map((entry) => upload(...entry)));
    },
    async makeFolder(path) {
      const status = await dav("MKCOL", path);
      if (status !== 201 && status !== 405) throw new Error(`MKCOL ${path} was answered ${status}`);
    },
    remove: (path) => succeeds("DELETE", path),
    setModified: (path, seconds) =>
      succeeds(
        "PROPPATCH",
        path,
        `<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><Win32LastModifiedTime xmlns="urn:schemas-microsoft-com:">${new Date(seconds * 1000).toUTCString()}</Win32LastModifiedTime></D:prop></D:set></D:propertyupdate>`,
      ),
    contentFile: (path) =>
      read(async (reader) => {
        const entry = await reader.find(treePath(path));
        const value = entry instanceof ObjectEntry ? entry.stats.value : undefined;
        if (value === undefined || isFolderValue(value) || value.blob === null)
          throw new Error(`${path} has no content`);
        return new FolderPaths(join(node.folder, "blobs")).ofBlob(value.blob);
      }),
    exists: (path) => read(async (reader) => (await reader.find(folderPath(path))) !== undefined),
    stats: (path) =>
      read(async (reader) => {
        const entry = await reader.find(folderPath(path));
        if (entry === undefined) throw new Error(`there is no ${path}`);
        return entry.stats;
      }),
    bytes: (path) => read((reader) => bytesIn(reader, path)),
    below: (folder) =>
      read(async (reader) => {
        const found = new Map<string, Buffer | undefined>();
        const top = folderPath(folder);
        if ((await reader.find(top)) === undefined) return found;
        for await (const { path, kind } of walk(reader, top)) {
          const name = path.slice(top.length).replace(/^\//, "");
          if (kind === "folder") found.set(`${name}/`, undefined);
          else found.set(name, await bytesIn(reader, path));
        }
        return found;
      }),
    uploads: () => readdirSync(join(node.folder, "blobs/unfinished")),
  };
}
