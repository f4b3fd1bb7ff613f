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
  if (name === "") return "Give it a name.";
  if (/[/\\]/.test(name)) return "A name cannot contain / or \\.";
  return name === "." || name === ".." ? "A name cannot be . or .. alone." : undefined;
}

export function pathProblem(path: string): string | undefined {
  if (path === "") return "Give it a name.";
  if (path.startsWith("/") || path.endsWith("/")) return "Remove the / at the start or end.";
  for (const name of path.split("/")) {
    if (name === "") return "Two / in a row: a name is missing between them.";
    const fault = nameProblem(name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Top-level paths that the server uses itself, even with an HTTP root. */
const reserved: readonly string[] = ["node", "jsonrpc", "terminal"];

export interface PublicFile {
  readonly bucket: string;
  /** True for the bucket that is the HTTP root: its files have shorter addresses. */
  readonly isRoot: boolean;
  /** Empty for the bucket itself. */
  readonly path: string;
}

/** Public address of a file or bucket. */
export function publicUrl(server: string, { bucket, isRoot, path }: PublicFile): string {
  const atRoot = isRoot && !reserved.includes(splitPath(path)[0] ?? "");
  return `${server}/${atRoot ? "" : `node/static/${encodeURIComponent(bucket)}/`}${encodePath(path)}`;
}
