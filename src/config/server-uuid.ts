import { basename, dirname, extname, join } from "node:path";
import { Fault, messageOf } from "../base/fault.ts";
import { readOnce, storeOnce } from "./once-file.ts";

const uuidForm = {
  what: "the server's UUID",
  contains: "a UUID",
  form: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
};

/**
 * `resolveServerUuid` returns the server's identity. For `auto_gen` it is created once and stored in a file beside the
 * configuration, so that neither a restart, nor a rewritten configuration, nor a move to another database changes it. If that
 * folder cannot be written (a read-only mount), the file is stored beside the SQLite database.
 */
export async function resolveServerUuid(
  setting: string,
  configPath: string,
  databaseFile: string | undefined,
): Promise<string> {
  const known = await findServerUuid(setting, configPath, databaseFile);
  if (known !== undefined) return known;
  const places = placesOf(configPath, databaseFile);
  const made = crypto.randomUUID();
  let reason = "";
  for (const place of places) {
    try {
      return (await storeOnce(place, made, { ...uuidForm, ownership: { mode: 0o644 } })).toLowerCase();
    } catch (error) {
      if (error instanceof Fault) throw error;
      reason = messageOf(error);
    }
  }
  throw new Fault(
    "IoError",
    `the server's UUID cannot be stored in ${places.join(" or ")} (${reason}); set server_uuid in the configuration`,
  );
}

/** `findServerUuid` returns the identity if it exists already; it creates nothing. */
export async function findServerUuid(
  setting: string,
  configPath: string,
  databaseFile: string | undefined,
): Promise<string | undefined> {
  if (setting !== "auto_gen") return setting.toLowerCase();
  for (const place of placesOf(configPath, databaseFile)) {
    const known = await readOnce(place, uuidForm);
    if (known !== undefined) return known.toLowerCase();
  }
  return undefined;
}

/** `placesOf` returns the paths where the identity, or another file of this ending, may be stored, the preferred one first. */
export function placesOf(configPath: string, databaseFile: string | undefined, ending = ".uuid"): string[] {
  const name = `${basename(configPath, extname(configPath))}${ending}`;
  const folders = [dirname(configPath), ...(databaseFile === undefined ? [] : [dirname(databaseFile)])];
  return folders.map((folder) => join(folder, name));
}
