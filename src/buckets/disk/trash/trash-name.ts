import { parseTreePath, type TreePath } from "../../path.ts";
import type { VersionName } from "../../ports.ts";

/** The longest name that Linux file systems have. */
const maxNameBytes = 255;
/** The bytes of a path in each name of several, beside the prefix. */
const maxPartBytes = 250;
/** Begins each further name, so that none is `.` or `..`. */
const partPrefix = "~";

/** TrashName is the first, or only, name under which something lies in the trash. */
export interface TrashName {
  readonly version: number;
  /** The path that it had in the bucket; undefined if it is too long for one name. */
  readonly path: TreePath | undefined;
  /** The number of names below this one that have the path; 0 if this one has it. */
  readonly parts: number;
}

/**
 * trashNames are the names, each in the folder of the one before, under which a version lies in the trash: `<version>~<path>`
 * with every slash of the path as `%2F` and every percent sign as `%25`. A path that is too long for that is divided:
 * `<version>+<number of parts>`, and the parts below it.
 */
export function trashNames({ version, path }: VersionName): string[] {
  const text = path.replace(/[%/]/g, (character) => (character === "/" ? "%2F" : "%25"));
  const only = `${version}~${text}`;
  if (Buffer.byteLength(only) <= maxNameBytes) return [only];
  const parts = divided(text).map((part) => partPrefix + part);
  return [`${version}+${parts.length}`, ...parts];
}

/** parseTrashName is undefined for a name that `trashNames` does not make. */
export function parseTrashName(name: string): TrashName | undefined {
  const [, digits = "", separator, rest = ""] = /^([1-9]\d*)([~+])(.+)$/s.exec(name) ?? [];
  const version = Number(digits);
  if (separator === undefined || !Number.isSafeInteger(version)) return undefined;
  if (separator === "~") {
    const path = parsePath(rest);
    return path && { version, path, parts: 0 };
  }
  const parts = /^[1-9]\d?$/.test(rest) ? Number(rest) : 0;
  return parts > 1 ? { version, path: undefined, parts } : undefined;
}

/** joinParts is the path that is divided into these names; undefined if they have none. */
export function joinParts(names: readonly string[]): TreePath | undefined {
  if (!names.every((name) => name.startsWith(partPrefix))) return undefined;
  return parsePath(names.map((name) => name.slice(partPrefix.length)).join(""));
}

function parsePath(text: string): TreePath | undefined {
  const path = parseTreePath(text.replace(/%(2F|25)/g, (_, code: string) => (code === "2F" ? "/" : "%")));
  return path === "" ? undefined : path;
}

/** Cut between characters, never within one. */
function divided(text: string): string[] {
  const parts: string[] = [];
  let part = "";
  let bytes = 0;
  for (const character of text) {
    const size = Buffer.byteLength(character);
    if (bytes + size > maxPartBytes) {
      parts.push(part);
      [part, bytes] = ["", 0];
    }
    part += character;
    bytes += size;
  }
  return [...parts, part];
}
