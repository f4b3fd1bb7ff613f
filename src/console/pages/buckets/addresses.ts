import { encodePath, namesIn } from "./path.ts";

/** What the server keeps for itself, whatever the HTTP root holds. */
const reserved: readonly string[] = ["node", "jsonrpc", "terminal"];

/** Where everybody can read a file, or a whole bucket with an empty path. */
export function publicUrl(server: string, bucket: string, isRoot: boolean, path = ""): string {
  const atRoot = isRoot && !reserved.includes(namesIn(path)[0] ?? "");
  return `${server}/${atRoot ? "" : `node/static/${encodeURIComponent(bucket)}/`}${encodePath(path)}`;
}
