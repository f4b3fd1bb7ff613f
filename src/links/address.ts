import { splitPath, type TreePath, treeRoot } from "../buckets/path.ts";
import type { LinkKind } from "./link-code.ts";

/** `linkPrefix` begins the address of every link to a file or a folder. */
export const linkPrefix = "/node/link/";

/** LinkAddress is what `addressOf` puts together. */
export interface LinkAddress {
  readonly code: string;
  readonly kind: LinkKind;
  readonly bucket: string;
  readonly path: TreePath;
}

/** `addressOf` is the path of a link's URL, fully encoded. That of a drop box ends in a slash, that of an archive in the archive's name. */
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

/** `withoutLinkCodes` hides the codes in a URL: whoever reads a log must not get the links of others. */
export function withoutLinkCodes(url: string): string {
  // Asked for every request, of which few have one.
  if (!url.includes("/node/link/") && !url.includes("/node/preview/")) return url;
  return url.replace(/(\/node\/(?:link|preview)\/+)[^/?#]+/g, "$1***");
}
