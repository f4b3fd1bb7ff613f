import { stat } from "node:fs/promises";
import { replaceFile } from "../../base/local-fs/replace-file.ts";
import { readConfigFile } from "../../config/default-config.ts";
import { replaceUrl } from "../../config/replace-value.ts";

/** `writeUrl` writes the URL of a table's key into a configuration file, or removes it. Owner, permissions and comments stay. */
export async function writeUrl(
  path: string,
  key: readonly [table: string, key: string],
  url: string | undefined,
): Promise<void> {
  const text = replaceUrl(await readConfigFile(path), key, url);
  const { mode, uid, gid } = await stat(path);
  await replaceFile(path, text, { mode, uid, gid });
}
