import { constants } from "node:fs";
import { access, rm } from "node:fs/promises";
import { Fault, messageOf } from "../base/fault.ts";
import { parsePublicKeys } from "../base/minisign-key.ts";
import type { Logger } from "../log/hub.ts";
import type { Binary } from "./binary.ts";
import { type Downloaded, type DownloadOptions, download, downloadText, type Progress } from "./download.ts";
import { lockFolder } from "./folder-lock.ts";
import { verifyMinisign } from "./minisign.ts";
import { binaryName, releaseAddress, type Tag } from "./release.ts";
import { smokeTest } from "./smoke-test.ts";
import { install } from "./trial.ts";

export interface UpdateSettings {
  readonly releaseUrl: string | undefined;
  /** With it, a valid signature is a must. */
  readonly publicKey: string | undefined;
}

/** Who is to be updated. */
export interface Installed {
  /** Undefined when run from source. */
  readonly binary: Binary | undefined;
  readonly version: string;
  readonly triple: string;
}

/** Where a release comes from, and the keys of which one must have signed it. */
interface Source {
  readonly releaseUrl: string;
  readonly keys: ReturnType<typeof parsePublicKeys> | undefined;
  readonly name: string;
  readonly tag: Tag;
}

/** Replaces the server's own binary by a release. What goes wrong changes nothing. */
export class Updater {
  readonly #installed: Installed;
  readonly #settings: () => UpdateSettings;
  readonly #log: Logger;
  #busy = false;
  readonly #stop = new AbortController();
  /** The download that runs, or the last one; after a failure its file is gone when this settles. */
  #fetching: Promise<Downloaded> | undefined;

  constructor(installed: Installed, settings: () => UpdateSettings, log: Logger) {
    this.#installed = installed;
    this.#settings = settings;
    this.#log = log;
  }

  /** Resolves to false when this is the version already. After true the binary on the disk is the new one. */
  async update(tag: Tag, onProgress: (progress: Progress) => void = () => {}): Promise<boolean> {
    if (tag.version === this.#installed.version) return false;
    const { binary } = this.#installed;
    if (binary === undefined)
      throw new Fault(
        "Other",
        "this server runs from source and has no binary to replace; update the source",
      );
    if (this.#busy) throw new Fault("Other", "an update is under way already; wait until it is done");
    this.#busy = true;
    try {
      await this.#alone(binary, tag, onProgress);
      // Stays busy: the process is about to be another.
      return true;
    } catch (error) {
      this.#busy = false;
      const { reason: code } = error instanceof Fault ? error.data : {};
      this.#log.event("update.failed", "update failed", {
        tag: tag.text,
        reason: messageOf(error),
        ...(typeof code === "string" ? { code } : {}),
      });
      throw error;
    }
  }

  /** Ends a download that runs, and resolves when nothing of it is left. What is in place already stays. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("the server stops"));
    await Promise.allSettled([this.#fetching]);
  }

  async #alone(binary: Binary, tag: Tag, onProgress: (progress: Progress) => void): Promise<void> {
    const unlock = lockFolder(binary.folder);
    if (unlock === undefined)
      throw new Fault("Other", "another program updates this binary already; wait until it is done");
    try {
      await this.#replace(binary, tag, onProgress);
    } finally {
      unlock();
    }
  }

  async #replace(binary: Binary, tag: Tag, onProgress: (progress: Progress) => void): Promise<void> {
    const { releaseUrl, publicKey } = this.#settings();
    if (releaseUrl === undefined)
      throw new Fault("Other", "release_url is not set in the configuration; it says where releases are", {
        reason: "release_url_missing",
      });
    const keys = publicKey === undefined ? undefined : parsePublicKeys(publicKey);
    await requireWritable(binary);
    await binary.clearLeftovers();
    const path = binary.newPath();
    try {
      const source = { releaseUrl, keys, name: binaryName(this.#installed.triple), tag };
      const fetching = this.#fetch(source, { path, mode: await binary.mode(), progress: onProgress });
      this.#fetching = fetching;
      const done = await fetching;
      this.#log.event("update.testing", "update: trying it out", { tag: tag.text });
      await smokeTest(path, tag, this.#installed.triple);
      await install(binary, path, { from: this.#installed.version, to: tag.version });
      this.#log.event("update.installed", "update: in place", {
        tag: tag.text,
        bytes: done.bytes,
        signed: keys !== undefined,
      });
    } catch (error) {
      throw error instanceof Fault
        ? error
        : new Fault(
            "IoError",
            `the binary was not replaced: ${messageOf(error)}; the server goes on`,
            {},
            { cause: error },
          );
    } finally {
      await rm(path, { force: true });
    }
  }

  /** The release and its signature, both checked. A failure leaves no file behind. */
  async #fetch(
    { releaseUrl, keys, name, tag }: Source,
    target: Pick<DownloadOptions, "path" | "mode" | "progress">,
  ): Promise<Downloaded> {
    const { signal } = this.#stop;
    try {
      this.#log.event("update.downloading", "update: downloading", { tag: tag.text });
      const tell = paced((progress) =>
        this.#log.event("update.downloading", "update: downloading", { tag: tag.text, ...figures(progress) }),
      );
      const done = await download(releaseAddress(releaseUrl, name, tag), {
        ...target,
        signal,
        progress(progress) {
          tell(progress);
          target.progress(progress);
        },
      });
      if (keys === undefined) return done;
      const address = releaseAddress(releaseUrl, `${name}.minisig`, tag);
      const comment = verifyMinisign(
        await downloadText(address, "the signature", signal),
        done.blake2b,
        keys,
      );
      if (comment.get("file") !== name || comment.get("version") !== tag.text)
        throw new Fault(
          "IoError",
          "the release's signature is for another file or version; nothing was changed",
        );
      return done;
    } catch (error) {
      await rm(target.path, { force: true });
      throw error;
    }
  }
}

async function requireWritable(binary: Binary): Promise<void> {
  try {
    await access(binary.folder, constants.W_OK);
  } catch {
    throw new Fault(
      "IoError",
      "the server may not write to the folder of its binary; update it in the way it was installed, or give its user that folder",
    );
  }
}

function figures({ bytes, total }: Progress) {
  return total === undefined ? { bytes } : { bytes, total, percent: Math.floor((bytes / total) * 100) };
}

/** At most once a second, and at the end. */
function paced(tell: (progress: Progress) => void): (progress: Progress) => void {
  let next = 0;
  return (progress) => {
    const now = Date.now();
    if (now < next && progress.bytes !== progress.total) return;
    next = now + 1000;
    tell(progress);
  };
}
