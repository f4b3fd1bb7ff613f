import { lchown, mkdir, open, realpath } from "node:fs/promises";
import { codeOf, Fault } from "../base/fault.ts";
import { inheritedOwner, makeFolder } from "../base/local-fs/access.ts";
import { Folder } from "../base/local-fs/folder.ts";
import { openLibc } from "../base/local-fs/local-calls.ts";
import type { BucketPath } from "./member-rules.ts";
import { StagedBucket } from "./staged-bucket.ts";
import type { TarMember } from "./tar-reader.ts";

/**
 * StagedBuckets are the buckets of a backup on their way to the disk. Nobody sees a change before `switchOver`; what was there is
 * kept until `finish`.
 */
export class StagedBuckets {
  readonly #staticPath: string;
  readonly #buckets = new Map<string, StagedBucket>();

  private constructor(staticPath: string) {
    this.#staticPath = staticPath;
  }

  /** Creates `staticPath` if it is missing. As root, a bucket gets the owner of the folder that it replaces, or of the one above. */
  static async open(staticPath: string): Promise<StagedBuckets> {
    makeFolder(staticPath);
    return new StagedBuckets(await realpath(staticPath));
  }

  async add({ bucket: path, path: inside }: BucketPath, member: TarMember): Promise<void> {
    let bucket = this.#buckets.get(path);
    if (bucket === undefined) {
      bucket = new StagedBucket(await this.#openParent(path), path);
      this.#buckets.set(path, bucket);
      await bucket.create();
    }
    if (member.kind === "folder") await bucket.addFolder(inside, member);
    else await bucket.addFile(inside, member);
  }

  /** Puts all buckets in their places. If one fails, `undo` restores the others. */
  async switchOver(): Promise<void> {
    for (const bucket of this.#buckets.values()) await bucket.complete();
    await this.#sync();
    for (const bucket of this.#buckets.values()) await bucket.switchOver();
  }

  async undo(): Promise<void> {
    for (const bucket of [...this.#buckets.values()].reverse()) await bucket.undo();
    await this.#close();
  }

  /** Removes what was replaced; returns the folders that could not be removed. */
  async finish(): Promise<string[]> {
    await this.#sync();
    const remains: string[] = [];
    for (const bucket of this.#buckets.values()) {
      try {
        await bucket.removeOld();
      } catch (error) {
        if (codeOf(error) === undefined) throw error;
        remains.push(bucket.oldPath);
      }
    }
    await this.#close();
    return remains;
  }

  /** Opens the folder above a bucket's. Each segment is opened in the one before it, and must not be a link. */
  async #openParent(path: string): Promise<Folder> {
    let folder = await Folder.open(this.#staticPath);
    for (const segment of path.split("/").slice(0, -1)) {
      const above = folder;
      try {
        folder = await this.#openOrCreate(above, segment);
      } catch (error) {
        if (codeOf(error) !== "ELOOP" && codeOf(error) !== "ENOTDIR") throw error;
        throw new Fault(
          "IoError",
          `the path ${path} of a bucket leads through a link or a file in ${this.#staticPath}; remove it first`,
        );
      } finally {
        await above.close();
      }
    }
    return folder;
  }

  async #openOrCreate(above: Folder, segment: string): Promise<Folder> {
    try {
      const owner = inheritedOwner(above.at(""));
      await mkdir(above.at(segment));
      if (owner !== undefined) await lchown(above.at(segment), owner.uid, owner.gid);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    return above.openChild(segment);
  }

  /** One call for the whole file system: syncing file by file takes milliseconds for each. */
  async #sync(): Promise<void> {
    const libc = openLibc({ syncfs: { args: ["int"], returns: "int" } });
    await using folder = await open(this.#staticPath, "r");
    libc?.syncfs(folder.fd);
  }

  async #close(): Promise<void> {
    for (const bucket of this.#buckets.values()) await bucket.close();
  }
}
