import { parseTreePath, type TreePath, treeRoot } from "../../buckets/path.ts";
import { plainText } from "../content/plain.ts";
import { hostNameOf } from "../request/host-name.ts";

export interface DecodedPath {
  readonly path: TreePath;
  /** Whether the path ends in a slash. */
  readonly slash: boolean;
  /** The path with its slash. */
  readonly text: string;
}

/**
 * decodePath percent-decodes each segment once; undefined if the path is invalid. A segment with an encoded slash (%2F) is
 * rejected: no file name contains a slash.
 */
export function decodePath(raw: string): DecodedPath | undefined {
  try {
    const segments = raw.split("/").map(decodeURIComponent);
    if (segments.some((segment) => segment.includes("/"))) return undefined;
    const text = segments.join("/");
    if (text === "") return { path: treeRoot, slash: true, text };
    const name = text.replace(/\/$/, "");
    const path = name === "" ? undefined : parseTreePath(name);
    return path && { path, slash: text.endsWith("/"), text };
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** Hosts are host names with the names of their buckets. */
type Hosts = ReadonlyMap<string, string>;

/** ownerOf returns the name of the bucket that the host name of a request belongs to. */
export function ownerOf(request: Request, hosts: Hosts): string | undefined {
  return hosts.size === 0 ? undefined : hosts.get(hostNameOf(request));
}

/**
 * isOtherHost returns whether a request for a bucket was sent to a host name of another one. It must not be answered there:
 * browsers add what they keep for a host name to all requests of its pages, so these must be of one bucket.
 */
export function isOtherHost(request: Request, bucket: string, hosts: Hosts): boolean {
  const owner = ownerOf(request, hosts);
  return owner !== undefined && owner !== bucket;
}

/** unknownHost answers over TLS at a name that neither the server nor a bucket has: the certificate was not for it. */
export function unknownHost(): Response {
  return plainText(
    421,
    "421 Misdirected Request: nothing is served at this host name. Use the server's own name or address, or give the name to a bucket.",
  );
}

/** misdirected answers such a request (RFC 9110 §15.5.20). */
export function misdirected(): Response {
  return plainText(
    421,
    "421 Misdirected Request: this host name belongs to another bucket. Use the server's own address, or a host name of the bucket itself.",
  );
}
