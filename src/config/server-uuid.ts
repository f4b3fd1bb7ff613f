import { randomBytes } from "node:crypto";
import { basename, dirname, extname, join } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { inheritedOwner, readRegularFile } from "../base/local-fs/access.ts";
import { createFile, type Ownership, replaceFile } from "../base/local-fs/replace-file.ts";

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
  const paths = pathsBeside(configPath, databaseFile);
  const made = crypto.randomUUID();
  let reason = "";
  for (const path of paths) {
    try {
      return (await storeOnce(path, made, { ...uuidForm, ownership: { mode: 0o644 } })).toLowerCase();
    } catch (error) {
      if (error instanceof Fault) throw error;
      reason = messageOf(error);
    }
  }
  throw new Fault(
    "IoError",
    `the server's UUID cannot be stored in ${paths.join(" or ")} (${reason}); set server_uuid in the configuration`,
  );
}

/** `findServerUuid` returns the identity if it exists already; it creates nothing. */
export async function findServerUuid(
  setting: string,
  configPath: string,
  databaseFile: string | undefined,
): Promise<string | undefined> {
  if (setting !== "auto_gen") return setting.toLowerCase();
  for (const path of pathsBeside(configPath, databaseFile)) {
    const known = await readOnce(path, uuidForm);
    if (known !== undefined) return known.toLowerCase();
  }
  return undefined;
}

/** `pathsBeside` returns the paths where the identity, or another file of this ending, may be stored, the preferred one first. */
export function pathsBeside(
  configPath: string,
  databaseFile: string | undefined,
  ending = ".uuid",
): string[] {
  const name = `${basename(configPath, extname(configPath))}${ending}`;
  const folders = [dirname(configPath), ...(databaseFile === undefined ? [] : [dirname(databaseFile)])];
  return folders.map((folder) => join(folder, name));
}

/** 32 bytes in base64. */
const keyForm = /^[A-Za-z0-9+/]{43}=$/;
const keyBytes = 32;

/** LinkKeyLocations says where the link key may be. */
interface LinkKeyLocations {
  /** `link_key_file`. */
  readonly setting: string | undefined;
  readonly configPath: string;
  readonly databaseFile: string | undefined;
}

/**
 * `resolveLinkKey` returns the part of the key of signed links that is outside of the database and its backups. It is created once
 * and stored as the server's UUID is, but for its owner alone. Returns why it cannot be stored, if it cannot: a server without
 * links is still a server.
 */
export async function resolveLinkKey(
  locations: LinkKeyLocations,
): Promise<Buffer | { readonly problem: string }> {
  const paths = linkKeyPaths(locations);
  for (const path of paths) {
    const known = await readOnce(path, linkKeyForm);
    if (known !== undefined) return Buffer.from(known, "base64");
  }
  const made = randomBytes(keyBytes).toString("base64");
  let reason = "";
  for (const path of paths) {
    try {
      const ownership = { mode: 0o600, ...inheritedOwner(path) };
      return Buffer.from(await storeOnce(path, made, { ...linkKeyForm, ownership }), "base64");
    } catch (error) {
      if (error instanceof Fault) throw error;
      reason = messageOf(error);
    }
  }
  return {
    problem: `the link key cannot be stored in ${paths.join(" or ")} (${reason}); set link_key_file in the configuration`,
  };
}

/** `linkKeyPaths` returns the paths where the link key may be stored, the preferred one first. */
export function linkKeyPaths({ setting, configPath, databaseFile }: LinkKeyLocations): string[] {
  return setting === undefined ? pathsBeside(configPath, databaseFile, ".link-key") : [setting];
}

const linkKeyForm = { what: "the link key", contains: "a link key", form: keyForm };

/** OnceForm is the one line of a file that is made once and never changed. */
interface OnceForm {
  /** Names it in messages: `the server's UUID`. */
  readonly what: string;
  /** The same with an article: `a UUID`. */
  readonly contains: string;
  readonly form: RegExp;
}

/** `storeOnce` stores a line. Returns that of another process which has stored one meanwhile: both must have the same. */
async function storeOnce(
  path: string,
  made: string,
  { ownership, ...form }: OnceForm & { readonly ownership: Ownership },
): Promise<string> {
  const text = `${made}\n`;
  try {
    await createFile(path, text, ownership);
    return made;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  const known = await readOnce(path, form);
  // A link to nowhere has the name.
  if (known === undefined) await replaceFile(path, text, ownership);
  return known ?? made;
}

/** `readOnce` returns the line of such a file; undefined if there is none. */
async function readOnce(path: string, { what, contains, form }: OnceForm): Promise<string | undefined> {
  let text: string;
  try {
    text = (await readRegularFile(path)).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw new Fault("IoError", `${what} in ${path} cannot be read: ${messageOf(error)}`, { path });
  }
  if (!form.test(text))
    throw new Fault("ParseError", `${path} does not contain ${contains}; delete it to get a new one`, {
      path,
    });
  return text;
}
