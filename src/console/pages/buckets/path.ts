import type { BucketSite } from "../../../client/index.ts";
import { t } from "../../text/text.ts";

/** Joins parts of a path. Paths in a bucket have no leading slash; the bucket itself is the empty path. */
export function join(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("/");
}

export function splitPath(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Deepest folder that contains or equals both paths. */
export function commonFolder(a: string, b: string): string {
  const [names, others] = [splitPath(a), splitPath(b)];
  const differs = names.findIndex((name, at) => name !== others[at]);
  return join(...(differs === -1 ? names : names.slice(0, differs)));
}

/** Name without its extension. A leading dot, as in `.env`, starts no extension. */
export function nameWithoutExtension(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}

/** Percent-encodes a path for a URL, name by name. */
function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** Whether two names are the same file: the server finds a name in either Unicode form. */
export function sameName(a: string, b: string): boolean {
  return a.normalize("NFC") === b.normalize("NFC");
}

/** Problem with a typed name, or undefined. The server checks more. */
export function nameProblem(name: string): string | undefined {
  if (name === "") return t.files.giveName;
  if (/[/\\]/.test(name)) return t.files.noSlash;
  return name === "." || name === ".." ? t.files.noDots : undefined;
}

export function pathProblem(path: string): string | undefined {
  if (path === "") return t.files.giveName;
  if (path.startsWith("/") || path.endsWith("/")) return t.files.noEndSlash;
  for (const name of path.split("/")) {
    if (name === "") return t.files.doubleSlash;
    const fault = nameProblem(name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Top-level paths that the server uses itself, even with an HTTP root. */
const reserved: readonly string[] = ["node", "jsonrpc", "terminal"];

interface PublicFile {
  /** The name of the bucket. */
  readonly name: string;
  /** Where its site is, if the token may know it: the HTTP root and host names have shorter addresses. */
  readonly site?: Pick<BucketSite, "is_http_root" | "hosts"> | null | undefined;
  /** Empty for the bucket itself. */
  readonly path: string;
}

/** Origin of a host name of a bucket, which the same server answers. */
export function onHost(server: string, host: string): string {
  const { protocol, port } = new URL(server);
  return `${protocol}//${host}${port === "" ? "" : `:${port}`}`;
}

/** Address of a file or bucket over plain HTTP. */
export function publicUrl(server: string, { name, site, path }: PublicFile): string {
  const { is_http_root: isRoot = false, hosts = [] } = site ?? {};
  const isReserved = reserved.includes(splitPath(path)[0] ?? "");
  const [host] = hosts;
  if (host !== undefined && !isReserved) {
    return `${onHost(server, host)}/${encodePath(path)}`;
  }
  const folder = isRoot && !isReserved ? "" : `node/static/${encodeURIComponent(name)}/`;
  return `${server}/${folder}${encodePath(path)}`;
}
