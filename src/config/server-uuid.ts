import { basename, dirname, extname, join } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { readRegularFile } from "../base/read-regular.ts";
import { createFile, replaceFile } from "../base/replace-file.ts";

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

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
      return await storeUuid(place, made);
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
    const known = await readUuid(place);
    if (known !== undefined) return known;
  }
  return undefined;
}

/** `placesOf` returns the paths where the identity may be stored, the preferred one first. */
export function placesOf(configPath: string, databaseFile: string | undefined): string[] {
  const name = `${basename(configPath, extname(configPath))}.uuid`;
  const folders = [dirname(configPath), ...(databaseFile === undefined ? [] : [dirname(databaseFile)])];
  return folders.map((folder) => join(folder, name));
}

/** Stores a new identity. Returns that of another process which has stored one meanwhile: both must have the same. */
async function storeUuid(path: string, made: string): Promise<string> {
  const [text, ownership] = [`${made}\n`, { mode: 0o644 }];
  try {
    await createFile(path, text, ownership);
    return made;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  const known = await readUuid(path);
  // A link to nowhere has the name.
  if (known === undefined) await replaceFile(path, text, ownership);
  return known ?? made;
}

async function readUuid(path: string): Promise<string | undefined> {
  let text: string;
  try {
    text = (await readRegularFile(path)).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw new Fault("IoError", `the server's UUID in ${path} cannot be read: ${messageOf(error)}`, { path });
  }
  if (!uuidForm.test(text))
    throw new Fault("ParseError", `${path} does not contain a UUID; delete it to get a new one`, { path });
  return text.toLowerCase();
}
