import { splitPath, type TreePath, treeRoot } from "../buckets/path.ts";

/** LinkKind is what a link is good for: one file, uploads into one folder, the preview of one deploy, or an archive of one folder. */
export type LinkKind = "download" | "upload" | "preview" | "zip";

/** LinkFields are what the code of a link says in the clear. */
export interface LinkFields {
  readonly kind: LinkKind;
  /** The row of the token that made it. */
  readonly tokenId: number;
  /** When it ends, in Unix seconds. */
  readonly expires: number;
  /** The key of its row, if it has one. */
  readonly id: string | undefined;
  /** Of a preview: how often the tree of the deploy had been exchanged when the link was made. */
  readonly exchanges?: number | undefined;
}

/** LinkCode is a code that was read. Whether its MAC is right is not known yet. */
interface LinkCode extends LinkFields {
  readonly mac: Buffer;
}

const version = 1;
/** Frozen: the number of a kind is in every address. */
const kinds: readonly LinkKind[] = ["download", "upload", "preview", "zip"];
const maxTokenId = 0x7fff_ffff;
const idBytes = 12;
/** A stranger has to guess 128 bits, and can try only by asking the server. */
const macBytes = 16;
/** Version, kind, flags, token and time. */
const headBytes = 11;
const exchangesBytes = 4;
const stored = 1;

/** `formatCode` writes a code as base64url: 36 characters, 42 of a preview, 52 with an id. */
export function formatCode(fields: LinkFields, mac: Buffer): string {
  return Buffer.concat([headOf(fields), mac.subarray(0, macBytes)]).toString("base64url");
}

/** `parseCode` reads a code; undefined if it is none. Every code has one text. */
export function parseCode(text: string): LinkCode | undefined {
  if (!/^[\w-]{36,52}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") !== text) return undefined;
  const [given, kindNumber = -1, flags] = bytes;
  const kind = kinds[kindNumber];
  if (given !== version || kind === undefined || (flags !== 0 && flags !== stored)) return undefined;
  const isPreview = kind === "preview";
  if (isPreview && flags === stored) return undefined;
  const length = headBytes + (flags === stored ? idBytes : 0) + (isPreview ? exchangesBytes : 0);
  if (bytes.length !== length + macBytes) return undefined;
  const tokenId = bytes.readUInt32BE(3);
  if (tokenId > maxTokenId) return undefined;
  return {
    kind,
    tokenId,
    expires: bytes.readUInt32BE(7),
    id: flags === stored ? bytes.toString("base64url", headBytes, length) : undefined,
    exchanges: isPreview ? bytes.readUInt32BE(headBytes) : undefined,
    mac: bytes.subarray(length),
  };
}

/** `headOf` returns what a code says in the clear, and so a part of what its MAC is of. */
export function headOf({ kind, tokenId, expires, id, exchanges }: LinkFields): Buffer {
  const head = Buffer.alloc(headBytes + (exchanges === undefined ? 0 : exchangesBytes));
  head.set([version, kinds.indexOf(kind), id === undefined ? 0 : stored]);
  head.writeUInt32BE(tokenId, 3);
  head.writeUInt32BE(expires, 7);
  if (exchanges !== undefined) head.writeUInt32BE(exchanges, headBytes);
  return id === undefined ? head : Buffer.concat([head, Buffer.from(id, "base64url")]);
}

/** `linkPrefix` begins the address of every link to a file or a folder. */
export const linkPrefix = "/node/link/";

/** LinkAddress is what `addressOf` puts together. */
interface LinkAddress {
  readonly code: string;
  readonly kind: LinkKind;
  readonly bucket: string;
  readonly path: TreePath;
}

/**
 * `addressOf` returns the path of a link's URL, fully encoded. That of a drop box ends in a slash, that of an archive in the
 * archive's name.
 */
export function addressOf({ code, kind, bucket, path }: LinkAddress): string {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  const slash = kind === "upload" && path !== treeRoot ? "/" : "";
  const address = `${linkPrefix}${code}/${encodeURIComponent(bucket)}/${encoded}${slash}`;
  if (kind !== "zip") return address;
  return `${address}${path === treeRoot ? "" : "/"}${encodeURIComponent(archiveName(bucket, path))}.zip`;
}

/**
 * `archiveName` names the archive of a folder, without `.zip`, and the one folder in it: after the folder, or the bucket. It is
 * no drive of Windows.
 */
export function archiveName(bucket: string, folder: TreePath): string {
  return (splitPath(folder).name || bucket).replace(/^([A-Za-z]):/, "$1_");
}

/** A code, wherever it stands: `/node//link/<code>` is not the address of a link, but the code is good at the right address. */
const anyCode = /AQ[AEIM][AB][\w-]{32,48}/g;

/** `withoutLinkCodes` hides the codes in a URL: whoever reads a log must not get the links of others. */
export function withoutLinkCodes(url: string): string {
  // Asked for every request, of which few have one.
  const mayHaveCode = url.includes("AQ");
  if (!mayHaveCode && !url.includes("/node/link/") && !url.includes("/node/preview/")) return url;
  const hidden = url.replace(/(\/node\/(?:link|preview)\/+)[^/?#]+/g, "$1***");
  return mayHaveCode ? hidden.replace(anyCode, "***") : hidden;
}
