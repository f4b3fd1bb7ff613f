import { type NodeServerClient, PermissionDenied, type ResultOf } from "../../client/index.ts";
import { webAddress } from "../remote/addresses.ts";

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

/** The same for a bucket of this name. */
export async function addressOfBucket(client: NodeServerClient, name: string): Promise<string> {
  return bucketAddress(client, (await readIfAllowed(client, name)) ?? { name, is_http_root: false });
}

async function readIfAllowed(client: NodeServerClient, name: string): Promise<Bucket | null> {
  try {
    return await client.call("static-bucket_read", { name });
  } catch (error) {
    if (error instanceof PermissionDenied) return null;
    throw error;
  }
}
