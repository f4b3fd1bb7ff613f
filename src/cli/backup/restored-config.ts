import { existsSync } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { VerifiedBackup } from "../../backup/read-backup.ts";
import { inheritedOwner, makeFolder, readRegularFile } from "../../base/local-fs/access.ts";
import {
  backupPath,
  type Ownership,
  replaceFile,
  temporaryName,
  writeWhole,
} from "../../base/local-fs/replace-file.ts";
import type { Config } from "../../config/schema.ts";
import { findServerUuid, pathsBeside } from "../../config/server-uuid.ts";
import { databaseFile } from "../../db/database.ts";
import type { Context } from "../context.ts";
import { readConfig } from "../server/open.ts";

/**
 * RestoredConfig is the configuration that a restored server uses: the one on the disk, or that of the backup, if there is none or
 * if it is to be replaced. Nothing is changed before `finish`.
 */
export class RestoredConfig {
  readonly config: Config;
  readonly #path: string;
  readonly #backup: VerifiedBackup;
  /** The backup's configuration, written beside; undefined if the one on the disk stays. */
  readonly #beside: string | undefined;
  readonly #replaces: boolean;

  private constructor(
    config: Config,
    backup: VerifiedBackup,
    { path, beside, replaces }: { path: string; beside: string | undefined; replaces: boolean },
  ) {
    this.config = config;
    this.#backup = backup;
    this.#path = path;
    this.#beside = beside;
    this.#replaces = replaces;
  }

  static async open(
    ctx: Context,
    given: string,
    backup: VerifiedBackup,
    { replace }: { readonly replace: boolean },
  ): Promise<RestoredConfig> {
    const path = ctx.path(given);
    const exists = existsSync(path);
    if (exists && !replace)
      return new RestoredConfig(await readConfig(ctx, given), backup, {
        path,
        beside: undefined,
        replaces: false,
      });
    makeFolder(dirname(path));
    const beside = join(dirname(path), temporaryName(basename(path)));
    await writeWhole(beside, backup.config, await ownershipFor(path, 0o600));
    try {
      // Read from this folder, so that everything in it is found where it will be.
      const config = await readConfig(ctx, beside);
      return new RestoredConfig(config, backup, { path, beside, replaces: exists });
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
  }

  /** replaced returns what `finish` will replace and keep under another name: `configuration <path>`, `UUID <uuid> of this server`. */
  async replaced(): Promise<string[]> {
    if (!this.#replaces) return [];
    const { present, change } = await this.#uuids();
    return [
      `configuration ${this.#path}`,
      ...(present !== undefined && change !== undefined ? [`UUID ${present} of this server`] : []),
    ];
  }

  /** Puts configuration and UUID in place. Returns what was done, for people. */
  async finish(): Promise<string[]> {
    const lines: string[] = [];
    if (this.#beside !== undefined) {
      const previous = await backUpPrevious(this.#path);
      await rename(this.#beside, this.#path);
      if (previous !== undefined) lines.push(`The previous configuration is saved as ${previous}.`);
      lines.push(`The configuration of the backup is now ${this.#path}.`);
    } else lines.push(`The configuration ${this.#path} exists and was not changed.`);
    lines.push(...(await this.#restoreUuid()));
    return lines;
  }

  async close(): Promise<void> {
    if (this.#beside !== undefined) await rm(this.#beside, { force: true });
  }

  /** The UUID in effect, and the one that is to take its place. */
  async #uuids(): Promise<{ present?: string | undefined; change?: string }> {
    const { server_uuid: uuid } = this.#backup.header;
    const { server_uuid: setting, database } = this.config;
    // A UUID in the configuration is in effect already.
    if (uuid === null || setting !== "auto_gen") return {};
    const present = await findServerUuid(setting, this.#path, databaseFile(database.database_url));
    return present === uuid ? { present } : { present, change: uuid };
  }

  async #restoreUuid(): Promise<string[]> {
    const { present, change } = await this.#uuids();
    if (change === undefined) return [];
    if (present !== undefined && !this.#replaces)
      return [
        `The server's UUID here is ${present}, in the backup it is ${change}; to use that of the backup, write server_uuid = "${change}" into the configuration.`,
      ];
    const [path = ""] = pathsBeside(this.#path, databaseFile(this.config.database.database_url));
    const previous = await backUpPrevious(path);
    await replaceFile(path, `${change}\n`, await ownershipFor(path, 0o644));
    return [
      `The server's UUID is ${change}, as in the backup.`,
      ...(previous === undefined ? [] : [`The previous UUID is saved as ${previous}.`]),
    ];
  }
}

/** Copies a file that is to be replaced; returns the path of the copy, undefined if there is no file. */
async function backUpPrevious(path: string): Promise<string | undefined> {
  if (!existsSync(path)) return undefined;
  const backup = backupPath(path);
  await writeWhole(backup, await readRegularFile(path), await stat(path));
  return backup;
}

/** Mode and owner of the file that is replaced; a new file gets `mode`. */
async function ownershipFor(path: string, mode: number): Promise<Ownership> {
  return existsSync(path) ? stat(path) : { mode, ...inheritedOwner(path) };
}
