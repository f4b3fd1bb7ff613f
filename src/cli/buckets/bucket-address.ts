import { type NodeServerClient, PermissionDenied, type ResultOf } from "../../client/index.ts";
import { webAddress } from "../remote/unix.ts";

type Bucket = NonNullable<ResultOf<"static-bucket_read">>;

/** Returns the address at which visitors find a bucket: its first host name, the HTTP root, or its path on the server. */
export function bucketAddress(
  { url }: NodeServerClient,
  { name, is_http_root, hosts = [] }: Pick<Bucket, "name" | "is_http_root" | "hosts">,
): string {
  const [host] = hosts;
  if (host !== undefined) return addressAtHost(url, host, "/");
  return webAddress(url, is_http_root ? "/" : `/node/static/${name}/`);
}

/** Returns the address of a path at a host name of the server, with the scheme and the port at which this program reaches it. */
export function addressAtHost(url: string, host: string, path: string): string {
  const origin = /^https?:/.test(url) ? new URL(url) : new URL("http://localhost");
  origin.hostname = host;
  return new URL(path, origin).href;
}

/** The same for a bucket of this name. A token for its files alone may not read the record; then it is the path that every bucket has. */
export async function addressOfBucket(client: NodeServerClient, name: string): Promise<string> {
  const bucket = await client.call("static-bucket_read", { name }).catch((error: unknown) => {
    if (error instanceof PermissionDenied) return null;
    throw error;
  });
  return bucketAddress(client, bucket ?? { name, is_http_root: false });
}
