import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "../../src/base/fault.ts";
import { Wire } from "./hostile.ts";
import type { TestNode } from "./node.ts";
import { until } from "./until.ts";
import { webdavSite } from "./webdav.ts";

export type Contents = Record<string, string>;

/** The story's bucket with these files, written straight to the disk, and what it takes to look at it. */
export async function openSite(node: TestNode, files: Contents = {}) {
  const site = await webdavSite(node);
  const at = (path: string) => join(node.folder, "static", node.bucket, path);
  const write = (more: Contents) => {
    for (const [path, content] of Object.entries(more)) {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), content);
    }
  };
  write(files);
  return {
    ...site,
    at,
    write,
    text: (path: string) => readFileSync(at(path), "utf8"),
    /** Files with their content, folders with a slash, of the bucket or of a folder of it. */
    contents: (folder = ""): Contents => contentsOf(at(folder)),
    to: async (method: "COPY" | "MOVE", from: string, to: string, headers: Record<string, string> = {}) =>
      (await site.dav(method, from, { destination: site.base + to, ...headers })).status,
  };
}

export function contentsOf(folder: string): Contents {
  const found = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
  const entries = found.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length).replace(/^\//, "");
    if (entry.isDirectory()) return [`${name}/`, ""] as const;
    return [name, entry.isFile() ? readFileSync(path, "utf8") : "special"] as const;
  });
  return Object.fromEntries(entries);
}

/** What is in the staging folder, at any depth below the server's own. */
export function staged(node: TestNode): string[] {
  return namesBelow(join(node.folder, "static/~staging")).filter((path) => !/^[^/]+\/$/.test(path));
}

/** The names at any depth, folders with a slash. What is removed meanwhile is left out. */
function namesBelow(folder: string): string[] {
  return listed(folder).flatMap((entry) =>
    entry.isDirectory()
      ? [`${entry.name}/`, ...namesBelow(join(folder, entry.name)).map((name) => `${entry.name}/${name}`)]
      : [entry.name],
  );
}

function listed(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Whether a file is uploaded, or a folder copied, at the moment; reads no content, which may be a very large hole. */
export function isStaging({ folder }: TestNode, kind: "file" | "folder"): boolean {
  const staging = join(folder, "static/~staging");
  if (!existsSync(staging)) return false;
  return readdirSync(staging)
    .flatMap((server) => readdirSync(join(staging, server), { withFileTypes: true }))
    .some((entry) => (kind === "file" ? entry.isFile() : entry.isDirectory()));
}

/**
 * A COPY of the folder `from` that lasts until the end of its scope, so that changes below `from` wait. It adds `huge.bin` to the
 * folder.
 */
export async function endlessCopy(
  node: TestNode,
  { at, base, authorization }: Pick<Awaited<ReturnType<typeof openSite>>, "at" | "base" | "authorization">,
): Promise<Disposable> {
  // So large that no machine copies it while a test runs; all of it is one hole.
  writeFileSync(at("from/huge.bin"), "");
  truncateSync(at("from/huge.bin"), 4 * 1024 ** 4);
  const copying = await Wire.open(node.url);
  copying.write(
    `COPY /node/static-webdav/${node.bucket}/from HTTP/1.1\r\nHost: here\r\nAuthorization: ${authorization}\r\nDestination: ${base}/to\r\n\r\n`,
  );
  await until("the copy has begun", () => isStaging(node, "folder"));
  return copying;
}

/** What a multistatus names, by path in the bucket, with its status. */
export const hrefs = (xml: string) =>
  [...xml.matchAll(/<D:href>([^<]*)<\/D:href><D:status>HTTP\/1\.1 (\d+)/g)].map(([, href, status]) => [
    decodeURIComponent(href ?? "").replace(/^\/node\/static-webdav\/[^/]+\//, ""),
    Number(status),
  ]);

/** As a user whom modes bind, with everything below static_path his own but what `closed` is given. */
export async function asUser(
  node: TestNode,
  closed: Readonly<Record<string, number>>,
  work: () => Promise<void>,
): Promise<void> {
  const folder = join(node.folder, "static");
  const root = process.getuid?.() === 0;
  chmodSync(node.folder, 0o755);
  for (const name of ["", ...readdirSync(folder, { recursive: true }).map(String)])
    if (root) chownSync(join(folder, name), 65_534, 65_534);
  for (const [path, mode] of Object.entries(closed)) chmodSync(join(folder, node.bucket, path), mode);
  try {
    if (root) process.seteuid?.(65_534);
    await work();
  } finally {
    if (root) process.seteuid?.(0);
    for (const path of Object.keys(closed))
      if (existsSync(join(folder, node.bucket, path))) chmodSync(join(folder, node.bucket, path), 0o755);
  }
}

/** A file system of its own at `folder` until the end of the scope; undefined, and told, where that is not allowed. */
export function mounted(what: string, folder: string, options: string) {
  mkdirSync(folder, { recursive: true });
  const asRoot = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
  const run = (...words: string[]) =>
    Bun.which(asRoot[0] ?? "mount") !== null && Bun.spawnSync([...asRoot, ...words]).exitCode === 0;
  if (!run("mount", "-t", "tmpfs", "-o", `mode=1777,${options}`, "tmpfs", folder)) {
    console.log(
      Bun.which("mount") === null
        ? `SKIPPED: ${what} needs mount (apt install mount)`
        : `note: ${what} is not shown, because nothing may be mounted here`,
    );
    return undefined;
  }
  return {
    remount: (mode: "ro" | "rw") => {
      if (!run("mount", "-o", `remount,${mode}`, folder)) throw new Error(`${folder} cannot be remounted`);
    },
    [Symbol.dispose]: () => {
      // A story may have moved it together with the folder above it.
      const lines = readFileSync("/proc/self/mounts", "utf8").split("\n");
      const places = lines.map((line) => line.split(" ")[1] ?? "");
      for (const place of places.filter((place) => place.startsWith(join(folder, ".."))))
        run("umount", "-l", place);
    },
  };
}
