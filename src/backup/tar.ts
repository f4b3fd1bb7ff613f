/** TarEntry describes one member of a tar archive. */
export interface TarEntry {
  readonly name: string;
  readonly kind: "file" | "folder";
  /** Bytes of the content; 0 for a folder. */
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
}

export const blockBytes = 512;
/** Two empty blocks end an archive. */
export const endOfArchive = Buffer.alloc(2 * blockBytes);

/** The largest value of an octal field of eleven digits. */
const maxOctal = 8 ** 11 - 1;

/**
 * `tarHeader` is the header of a member in the format of POSIX.1-2001: ustar, preceded by an extended header ("pax") where ustar
 * cannot express the entry, such as a long name, one that is not ASCII, a fraction of a second or 8 GiB.
 */
export function tarHeader(entry: TarEntry): Buffer {
  const { name, size, modifiedMs } = entry;
  const records: string[] = [];
  const isPlain = /^[\x20-\x7e]*$/.test(name);
  const short = isPlain ? splitName(name) : undefined;
  if (short === undefined) records.push(paxRecord("path", name));
  if (size > maxOctal) records.push(paxRecord("size", String(size)));
  if (modifiedMs % 1000 !== 0) records.push(paxRecord("mtime", secondsText(modifiedMs)));
  const own = ustarBlock(
    entry,
    short ?? { prefix: "", name: name.replace(/[^\x20-\x7e]/g, "_").slice(0, 100) },
  );
  if (records.length === 0) return own;
  const extended = Buffer.from(records.join(""));
  const pax = { name: "pax", size: extended.length, mode: 0o600, modifiedMs: 0 };
  return Buffer.concat([
    ustarBlock({ ...pax, kind: "pax" }, { prefix: "", name: "pax" }),
    extended,
    padding(extended.length),
    own,
  ]);
}

/** `padding` are the zeros after a content of this size. */
export function padding(size: number): Buffer {
  return Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);
}

/** `secondsText` is a time in seconds with six digits after the point; times before 1970 become 0. */
function secondsText(ms: number): string {
  const microseconds = Math.max(0, Math.round(ms * 1000));
  const seconds = Math.floor(microseconds / 1_000_000);
  return `${seconds}.${String(microseconds % 1_000_000).padStart(6, "0")}`;
}

/** A record is `<length> <key>=<value>\n`, and the length includes its own digits. */
function paxRecord(key: string, value: string): string {
  const bytes = Buffer.byteLength(` ${key}=${value}\n`);
  let length = bytes + String(bytes).length;
  if (String(length).length !== String(bytes).length) length = bytes + String(length).length;
  return `${length} ${key}=${value}\n`;
}

interface SplitName {
  readonly prefix: string;
  readonly name: string;
}

/** ustar has 155 bytes for folders and 100 for the rest. */
function splitName(name: string): SplitName | undefined {
  if (name.length <= 100) return { prefix: "", name };
  for (let at = name.indexOf("/"); at !== -1 && at <= 155; at = name.indexOf("/", at + 1))
    if (name.length - at - 1 <= 100 && at + 1 < name.length)
      return { prefix: name.slice(0, at), name: name.slice(at + 1) };
  return undefined;
}

type BlockKind = TarEntry["kind"] | "pax";
const typeFlags: Readonly<Record<BlockKind, string>> = { file: "0", folder: "5", pax: "x" };

function ustarBlock(
  { kind, size, mode, modifiedMs }: Omit<TarEntry, "kind"> & { readonly kind: BlockKind },
  { prefix, name }: SplitName,
): Buffer {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, digits: number) =>
    block.write(`${Math.max(0, value).toString(8).padStart(digits, "0")}\0`, at, "latin1");
  block.write(name, 0, "latin1");
  octal(mode & 0o7777, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size > maxOctal ? 0 : size, 124, 11);
  octal(Math.min(maxOctal, Math.floor(modifiedMs / 1000)), 136, 11);
  block.write("        ", 148, "latin1");
  block.write(typeFlags[kind], 156, "latin1");
  block.write("ustar\x0000", 257, "latin1");
  block.write(prefix, 345, "latin1");
  block.write(`${checksumOf(block).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** `checksumOf` is the sum of all bytes of a header, its own field taken as spaces. */
export function checksumOf(block: Uint8Array): number {
  let sum = 0;
  for (let at = 0; at < blockBytes; at += 1) sum += at >= 148 && at < 156 ? 0x20 : (block[at] ?? 0);
  return sum;
}
