import { type Session, serverUrl } from "../../../session.ts";
import type { OpenBucket } from "../bucket-access.ts";
import { publicUrl } from "../path.ts";

/** How long a player can ask for further parts of a private file. */
const playSeconds = 6 * 3600;

/**
 * Address from which the browser itself reads a file: the public one, a signed link, or, for a bucket that is off, a blob in
 * memory. No token is in it.
 */
export async function addressToRead(
  { client }: Session,
  { name, access }: OpenBucket,
  path: string,
): Promise<string> {
  if (access.readers === "anybody") return publicUrl(serverUrl, { name, path });
  if (access.readers !== "tokens") return URL.createObjectURL((await access.read(path)).blob);
  const link = { name, path, expires_in: playSeconds };
  const { address } = await client.call("static-bucket-file_link", link);
  return `${serverUrl}${address}`;
}
