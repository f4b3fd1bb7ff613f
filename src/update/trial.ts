import { readFile, rm } from "node:fs/promises";
import { codeOf } from "../base/fault.ts";
import { replaceFile } from "../base/local-fs/replace-file.ts";
import { type Binary, lockFolder } from "./binary.ts";

/** Trial is the record of an update that is not confirmed yet, or that was rolled back. */
interface Trial {
  readonly from: string;
  readonly to: string;
  /** The number of starts of the new version so far. */
  readonly starts: number;
  /** The copy of the database that the new version made before its migration. */
  readonly backup?: string;
  /** True if it was rolled back and that is not logged yet. */
  readonly takenBack?: true;
}

/** The number of starts after which an unconfirmed version is replaced by the old one. */
const maxStarts = 2;

/** StartMode is how a process starts with regard to updates. */
export type StartMode =
  | { readonly kind: "ordinary" }
  /** One of the first starts of a new version. */
  | { readonly kind: "trial"; readonly from: string }
  /** The update was rolled back: this is the old version again. */
  | { readonly kind: "taken back"; readonly failed: string; readonly backup?: string | undefined }
  /** The old binary is back in place; this process must exec into it. */
  | {
      readonly kind: "give up";
      readonly from: string;
      readonly to: string;
      readonly backup?: string | undefined;
    };

/**
 * `beginTrial` must be called first by every start: it determines whether this version is on trial, and counts the start. Throws if
 * the record cannot be written.
 */
export async function beginTrial(binary: Binary, version: string): Promise<StartMode> {
  await clearUp(binary);
  const trial = await read(binary);
  if (trial === undefined) return { kind: "ordinary" };
  if (trial.to !== version || trial.takenBack) {
    // This is the old version: it was restored, or the new one was never put in place.
    await endTrial(binary);
    return trial.takenBack
      ? { kind: "taken back", failed: trial.to, backup: trial.backup }
      : { kind: "ordinary" };
  }
  if (trial.starts < maxStarts) {
    await write(binary, { ...trial, starts: trial.starts + 1 });
    return { kind: "trial", from: trial.from };
  }
  await write(binary, { ...trial, takenBack: true });
  await binary.rollBack();
  return { kind: "give up", from: trial.from, to: trial.to, backup: trial.backup };
}

/** `recordBackup` remembers, for a roll-back, where the version on trial has copied the database to before its migration. */
export async function recordBackup(binary: Binary, backup: string): Promise<void> {
  const trial = await read(binary);
  if (trial !== undefined) await write(binary, { ...trial, backup });
}

/**
 * `install` puts a new version in place, on trial. The backup is always the last confirmed version. If it fails, everything is as
 * before, an earlier trial included.
 */
export async function install(
  binary: Binary,
  newPath: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const earlier = await read(binary);
  const unproven = earlier?.to === from && !earlier.takenBack;
  await write(binary, { from: unproven ? earlier.from : from, to, starts: 0 });
  try {
    await binary.replaceWith(newPath, { keepOld: !unproven });
  } catch (error) {
    if (earlier === undefined) await endTrial(binary);
    else await write(binary, earlier);
    throw error;
  }
}

/** `endTrial` removes the trial record: the new version is confirmed, or the update was aborted. */
export async function endTrial(binary: Binary): Promise<void> {
  await rm(binary.statePath, { force: true });
}

/** `clearUp` removes what a power loss left of a download, unless another process is downloading or nothing can be removed here. */
async function clearUp(binary: Binary): Promise<void> {
  const unlock = lockFolder(binary.folder);
  if (unlock === undefined) return;
  try {
    await binary.clearLeftovers();
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes(codeOf(error) ?? "")) throw error;
  } finally {
    unlock();
  }
}

async function read(binary: Binary): Promise<Trial | undefined> {
  try {
    return JSON.parse(await readFile(binary.statePath, "utf8")) as Trial;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    // A damaged record must not prevent the server from starting.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function write(binary: Binary, trial: Trial): Promise<void> {
  return replaceFile(binary.statePath, JSON.stringify(trial), { mode: 0o644 });
}
