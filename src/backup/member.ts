import type { TarEntry } from "./tar.ts";

/** Member is a file or folder on its way into a backup. */
export interface Member extends TarEntry {
  /** The content: exactly `size` bytes. */
  content(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export function folderMember(name: string, attributes: Pick<TarEntry, "mode" | "modifiedMs">): Member {
  return { ...attributes, name, kind: "folder", size: 0, content: () => [] };
}

export function bytesMember(
  name: string,
  bytes: Uint8Array,
  attributes: Pick<TarEntry, "mode" | "modifiedMs">,
): Member {
  return { ...attributes, name, kind: "file", size: bytes.length, content: () => [bytes] };
}
