/** A path in a bucket is its names, separated by slashes; the bucket itself is the empty path. */
export function join(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("/");
}

export function namesIn(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The deepest folder that both are in or are. */
export function commonFolder(a: string, b: string): string {
  const [names, others] = [namesIn(a), namesIn(b)];
  const differs = names.findIndex((name, at) => name !== others[at]);
  return join(...(differs === -1 ? names : names.slice(0, differs)));
}

/** A file's name without its ending. A dot in front, as in `.env`, begins no ending. */
export function stemOf(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}

/** For URLs: every name for itself, so that a `#` or `%` in one stays a part of it. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** The server finds a name in either Unicode form, so both are one name. */
export function sameName(a: string, b: string): boolean {
  return a.normalize("NFC") === b.normalize("NFC");
}

/** What is wrong with a name that somebody typed; the server has the last word. */
export function faultInName(name: string): string | undefined {
  if (name === "") return "Give it a name.";
  if (/[/\\]/.test(name)) return "A name cannot hold / or \\.";
  return name === "." || name === ".." ? "Dots alone are no name." : undefined;
}

export function faultInPath(path: string): string | undefined {
  if (path === "") return "Give it a name.";
  if (path.startsWith("/") || path.endsWith("/")) return "Write it without / at its begin and end.";
  for (const name of path.split("/")) {
    if (name === "") return "Two / in a row: a name is missing between them.";
    const fault = faultInName(name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
