// This folder replaces the server's own binary by a release. The Updater of this file takes the steps in order:
// release.ts finds the newest version, download.ts fetches it, minisign.ts checks its signature, smoke-test.ts runs it
// once. Then trial.ts installs it with binary.ts, which keeps the old one as `.old`, on trial: if its first starts
// fail, the next one puts the old version back. release-server.ts is the other side, and serves releases from a folder.
// The Updater never restarts the server: methods/node.ts asks for that, and node.ts waits the three seconds.

import { constants } from "node:fs";
import { access, rm } from "node:fs/promises";
import { Fault, messageOf } from "../base/fault.ts";
import { parsePublicKeys, verifyMinisign } from "../base/minisign.ts";
import type { Logger } from "../log/hub.ts";
import { type Binary, lockFolder } from "./binary.ts";
import {
  type DownloadOptions,
  type DownloadResult,
  download,
  downloadText,
  type Progress,
  requireRelease,
} from "./download.ts";
import { binaryName, releaseAddress, type Tag } from "./release.ts";
import { smokeTest } from "./smoke-test.ts";
import { install } from "./trial.ts";

export interface UpdateSettings {
  readonly releaseUrl: string | undefined;
  /** If set, a release must have a valid signature of one of these keys. */
  readonly publicKey: string | undefined;
}

/** InstalledProgram is the program that is to be updated. */
export interface InstalledProgram {
  /** Undefined if the server runs from source. */
  readonly binary: Binary | undefined;
  readonly version: string;
  readonly triple: string;
}

/** Source is where a release comes from, with the keys of which one must have signed it. */
interface Source {
  readonly releaseUrl: string;
  readonly keys: ReturnType<typeof parsePublicKeys> | undefined;
  readonly name: string;
  readonly tag: Tag;
}

/**
 * Updater replaces the server's own binary by a release: it downloads, checks the signature, runs a smoke test, and only then
 * replaces the file. If any step fails, nothing is changed.
 */
export class Updater {
  readonly #installed: InstalledProgram;
  readonly #settings: () => UpdateSettings;
  readonly #log: Logger;
  #busy = false;
  readonly #stop = new AbortController();
  /** The running or last download; once it settles after a failure, its file is removed. */
  #fetching: Promise<DownloadResult> | undefined;

  constructor(installed: InstalledProgram, settings: () => UpdateSettings, log: Logger) {
    this.#installed = installed;
    this.#settings = settings;
    this.#log = log;
  }

  /**
   * Resolves to false if this version runs already, and to true once the binary on the disk is the new one. Throws if another
   * update runs.
   */
  async update(tag: Tag, onProgress: (progress: Progress) => void = () => {}): Promise<boolean> {
    if (tag.version === this.#installed.version) return false;
    const { binary } = this.#installed;
    if (binary === undefined)
      throw new Fault(
        "Other",
        "this server runs from source and has no binary to replace; update the source",
      );
    if (this.#busy)
      throw new Fault("Other", "another update is running; wait until it is done", {
        reason: "update_running",
      });
    this.#busy = true;
    try {
      await this.#alone(binary, tag, onProgress);
      // Stays busy: the caller replaces this process.
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

  /** Fires when the server stops. */
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborts a running download, and resolves when its file is removed. A binary that is in place already stays. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("the server is stopping"));
    await Promise.allSettled([this.#fetching]);
  }

  async #alone(binary: Binary, tag: Tag, onProgress: (progress: Progress) => void): Promise<void> {
    const unlock = lockFolder(binary.folder);
    if (unlock === undefined)
      throw new Fault("Other", "another process is updating this binary; wait until it is done");
    try {
      await this.#replace(binary, tag, onProgress);
    } finally {
      unlock();
    }
  }

  async #replace(binary: Binary, tag: Tag, onProgress: (progress: Progress) => void): Promise<void> {
    const { releaseUrl, publicKey } = this.#settings();
    if (releaseUrl === undefined)
      throw new Fault(
        "Other",
        "release_url is not set in the configuration that the server uses; set it to the address of the releases, and let the server read it again (SIGHUP)",
        {
          reason: "release_url_missing",
        },
      );
    const keys = publicKey === undefined ? undefined : parsePublicKeys(publicKey);
    await requireWritable(binary);
    await binary.clearLeftovers();
    const path = binary.newPath();
    try {
      const source = { releaseUrl, keys, name: binaryName(this.#installed.triple), tag };
      const fetching = this.#fetch(source, { path, mode: await binary.mode(), progress: onProgress });
      this.#fetching = fetching;
      const done = await fetching;
      this.#log.event("update.testing", "update: testing", { tag: tag.text });
      await smokeTest(path, tag, this.#installed.triple);
      await install(binary, path, { from: this.#installed.version, to: tag.version });
      this.#log.event("update.installed", "update: installed", {
        tag: tag.text,
        bytes: done.bytes,
        signed: keys !== undefined,
      });
    } catch (error) {
      throw error instanceof Fault
        ? error
        : new Fault(
            "IoError",
            `the binary was not replaced: ${messageOf(error)}; the old version continues to run`,
            {},
            { cause: error },
          );
    } finally {
      await rm(path, { force: true });
    }
  }

  /** Downloads the release and checks its signature. If it fails, no file is left. */
  async #fetch(
    { releaseUrl, keys, name, tag }: Source,
    target: Pick<DownloadOptions, "path" | "mode" | "progress">,
  ): Promise<DownloadResult> {
    const { signal } = this.#stop;
    try {
      this.#log.event("update.downloading", "update: downloading", { tag: tag.text });
      const report = paced((progress) =>
        this.#log.event("update.downloading", "update: downloading", { tag: tag.text, ...figures(progress) }),
      );
      const address = releaseAddress(releaseUrl, name, tag);
      const signatureAddress = releaseAddress(releaseUrl, `${name}.minisig`, tag);
      // The signature comes first: the binary is large, and useless without it.
      const signed = keys && { keys, signature: await fetchSignature(signatureAddress, address, signal) };
      const done = await download(address, {
        ...target,
        signal,
        progress(progress) {
          report(progress);
          target.progress(progress);
        },
      });
      if (signed === undefined) return done;
      const comment = verifyMinisign(signed.signature, done.blake2b, signed.keys);
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
      "the server cannot write to the folder of its binary; update it the way it was installed, or make its user the owner of the folder",
    );
  }
}

function figures({ bytes, total }: Progress) {
  return total === undefined ? { bytes } : { bytes, total, percent: Math.floor((bytes / total) * 100) };
}

/** `paced` passes on at most one report per second, and the last one. */
function paced(report: (progress: Progress) => void): (progress: Progress) => void {
  let next = 0;
  return (progress) => {
    const now = performance.now();
    if (now < next && progress.bytes !== progress.total) return;
    next = now + 1000;
    report(progress);
  };
}

/** `fetchSignature` downloads the signature of a release. If there is none, the error tells whether the release itself is missing. */
async function fetchSignature(address: string, release: string, signal: AbortSignal): Promise<string> {
  try {
    return await downloadText(address, "the signature", signal);
  } catch (error) {
    await requireRelease(release, signal);
    throw error;
  }
}
