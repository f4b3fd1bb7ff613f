import { lstatSync, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { codeOf, Fault } from "../../base/fault.ts";
import type { Context } from "../context.ts";
import { explainFileError } from "../errors.ts";
import type { OmissionCause, OmittedFile } from "./omitted-file.ts";
import { isExcluded, type SkipRules } from "./skip-rules.ts";

export interface LocalFile {
  /** Relative, with slashes, as in the bucket. */
  readonly path: string;
  readonly disk: string;
  readonly size: number;
  readonly stamp: FileStamp;
}

/** FileStamp tells without reading whether a file is unchanged. Copy tools can set `mtime` back, but not `ctime`. */
export interface FileStamp {
  readonly size: number;
  readonly mtime: number;
  readonly ctime: number;
}

/** A file or folder on the disk, with links resolved. */
interface ResolvedEntry {
  readonly disk: string;
  readonly stats: Stats;
}

export interface LocalTree {
  readonly files: ReadonlyMap<string, LocalFile>;
  readonly folders: ReadonlySet<string>;
  /** What cannot be sent, such as links that lead out of the folder. */
  readonly omitted: readonly OmittedFile[];
  /** What the rules skip; a folder, which has a slash at its end, stands for all that is in it. */
  readonly skipped: readonly OmittedFile[];
}

export function stampOf({ size, mtimeMs, ctimeMs }: Stats): FileStamp {
  return { size, mtime: mtimeMs, ctime: ctimeMs };
}

export function sameStamp(a: FileStamp, b: FileStamp): boolean {
  return a.size === b.size && a.mtime === b.mtime && a.ctime === b.ctime;
}

/** Returns the folder that the user named, with links resolved; throws if it is none. */
export function realFolder(ctx: Context, given: string): string {
  const dir = ctx.path(given);
  try {
    if (statSync(dir).isDirectory()) return realpathSync(dir);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new Fault("NotFound", `${given} does not exist`);
  }
  throw new Fault("InvalidInput", `${given} is not a folder`);
}

/**
 * Lists every file below a folder, except what `rules` skip; without rules, except what is never sent. Links are followed only as long
 * as they stay inside.
 */
export function readLocalTree(root: string, rules?: SkipRules): LocalTree {
  const files = new Map<string, LocalFile>();
  const folders = new Set<string>();
  const omitted: OmittedFile[] = [];
  const skipped: OmittedFile[] = [];
  walk(root, "", [root]);
  return { files, folders, omitted, skipped };

  /** `above` holds the folders on the way here with links resolved, to detect circles. */
  function walk(folder: string, prefix: string, above: readonly string[]): void {
    for (const name of namesIn(folder)) {
      const path = prefix + name;
      if (rules === undefined && isExcluded(name)) continue;
      const disk = join(folder, name);
      // Rules may be about folders alone, so what a link leads to has to be known first; but nothing is said of a skipped link.
      const found = whyUnsendable(name, prefix === "") ?? resolveLink(disk);
      if (found === undefined) continue;
      const isFolder = !("why" in found) && found.stats.isDirectory();
      const skip = whySkipped(path, disk, isFolder ? "folder" : "file");
      const isNeeded = isFolder && skip !== undefined && rules?.mayIncludeBelow(path) === true;
      if (skip !== undefined)
        skipped.push({ path: isFolder ? `${path}/` : path, reason: "skipped", why: skip });
      if (skip !== undefined && !isNeeded) continue;
      if ("why" in found) {
        omitted.push({ path, ...found });
        continue;
      }
      take(path, found, above);
    }
  }

  /** Below a link a file has two paths; a rule about either skips it. */
  function whySkipped(path: string, disk: string, kind: "file" | "folder"): string | undefined {
    const inside = relative(root, disk).split(sep).join("/");
    return rules?.whySkipped(path, kind) ?? (inside === path ? undefined : rules?.whySkipped(inside, kind));
  }

  function take(path: string, { disk, stats }: ResolvedEntry, above: readonly string[]): void {
    if (stats.isFile()) files.set(path, { path, disk, size: stats.size, stamp: stampOf(stats) });
    else if (!stats.isDirectory())
      omitted.push({
        path,
        reason: "not_a_file",
        why: "it is not a file, a folder or a link to one",
      });
    else if (above.includes(disk))
      omitted.push({ path, reason: "link_circle", why: "the link points to a folder that contains it" });
    else {
      folders.add(path);
      walk(disk, `${path}/`, [...above, disk]);
    }
  }

  /** Returns the file or folder behind a path; why it is left out; undefined when it vanished meanwhile. */
  function resolveLink(disk: string): ResolvedEntry | OmissionCause | undefined {
    const stats = lstatSync(disk, { throwIfNoEntry: false });
    if (stats === undefined || !stats.isSymbolicLink()) return stats && { disk, stats };
    try {
      const real = realpathSync(disk);
      const inside = relative(root, real).split(sep).join("/");
      if (real !== root && !real.startsWith(root.endsWith(sep) ? root : root + sep))
        return { reason: "link_leads_out", why: "the link points outside the folder" };
      const target = { disk: real, stats: statSync(real) };
      const kind = target.stats.isDirectory() ? "folder" : "file";
      const isSkipped =
        rules === undefined ? isExcluded(inside) : rules.whySkipped(inside, kind) !== undefined;
      return isSkipped
        ? { reason: "link_skipped", why: "the link points to a skipped file or folder" }
        : target;
    } catch {
      return { reason: "link_broken", why: "the link is broken" };
    }
  }
}

/** Throws for a folder that cannot be read: taken for empty, its files would be deleted from the bucket. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw new Fault("IoError", `${folder} cannot be read (${codeOf(error)})`);
  }
}

function whyUnsendable(name: string, top: boolean): OmissionCause | undefined {
  const refused = (why: string): OmissionCause => ({ reason: "name_not_accepted", why });
  if (name.includes("\\")) return refused("a name in a bucket cannot contain a backslash");
  if (top && /^[A-Za-z]:/.test(name)) return refused("the name begins with a drive letter");
  return name.includes("\ufffd") || !name.isWellFormed() ? refused("its name is not UTF-8") : undefined;
}

export async function hashFile(disk: string): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(disk).stream()) hasher.update(chunk);
  return hasher.digest("hex");
}

/** Undefined for a file that vanished or may not be read. */
export async function hashIfReadable(disk: string): Promise<string | undefined> {
  try {
    return await hashFile(disk);
  } catch (error) {
    if (["ENOENT", ...codesOfOneFile].includes(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}

/** The codes of errors about the rights or the name of one file, so that the others can still be transferred. */
const codesOfOneFile = ["EACCES", "EPERM", "ENAMETOOLONG"];

/** `localRefusal` returns why one file alone cannot be read or written here; undefined for any other error. */
export function localRefusal(error: unknown): OmissionCause | undefined {
  const why = codesOfOneFile.includes(codeOf(error) ?? "") ? explainFileError(error) : undefined;
  if (why === undefined) return undefined;
  return { reason: codeOf(error) === "ENAMETOOLONG" ? "name_too_long" : "not_permitted", why };
}

export function hashBytes(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}
