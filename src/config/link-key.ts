import { randomBytes } from "node:crypto";
import { Fault, messageOf } from "../base/fault.ts";
import { inheritedOwner } from "../base/local-fs/access.ts";
import { readOnce, storeOnce } from "./once-file.ts";
import { placesOf } from "./server-uuid.ts";

/** 32 bytes in base64. */
const keyForm = /^[A-Za-z0-9+/]{43}=$/;
const keyBytes = 32;

/** LinkKeyPlaces are where the link key may be. */
export interface LinkKeyPlaces {
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
export async function resolveLinkKey(places: LinkKeyPlaces): Promise<Buffer | { readonly problem: string }> {
  const paths = linkKeyPaths(places);
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
export function linkKeyPaths({ setting, configPath, databaseFile }: LinkKeyPlaces): string[] {
  return setting === undefined ? placesOf(configPath, databaseFile, ".link-key") : [setting];
}

const linkKeyForm = { what: "the link key", contains: "a link key", form: keyForm };
