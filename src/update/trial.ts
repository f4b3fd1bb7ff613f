import { readFile, rm } from "node:fs/promises";
import { codeOf } from "../base/fault.ts";
import { replaceFile } from "../base/replace-file.ts";
import type { Binary } from "./binary.ts";
import { lockFolder } from "./folder-lock.ts";

/** What is known of an update that has not proven itself yet, or that failed to. */
interface Trial {
  readonly from: string;
  readonly to: string;
  /** Starts of the new version so far. */
  readonly starts: number;
  /** It was taken back, and nobody has been told yet. */
  readonly takenBack?: true;
}

/** So many starts may fail before the old version comes back. */
const mostStarts = 2;

export type Beginning =
  | { readonly kind: "ordinary" }
  /** The first starts of a new version. */
  | { readonly kind: "trial"; readonly from: string }
  /** The update was taken back: this is the old version again. */
  | { readonly kind: "taken back"; readonly failed: string }
  /** The old binary is in place again; this process must become it. */
  | { readonly kind: "give up"; readonly from: string; readonly to: string };

/** The first thing a start does: finds out whether it is on trial, and counts. */
export async function beginTrial(binary: Binary, version: string): Promise<Beginning> {
  await clearUp(binary);
  const trial = await read(binary);
  if (trial === undefined) return { kind: "ordinary" };
  if (trial.to !== version || trial.takenBack) {
    // The old version: it came back, or the new one never got into place.
    await endTrial(binary);
    return trial.takenBack ? { kind: "taken back", failed: trial.to } : { kind: "ordinary" };
  }
  if (trial.starts < mostStarts) {
    await write(binary, { ...trial, starts: trial.starts + 1 });
    return { kind: "trial", from: trial.from };
  }
  await write(binary, { ...trial, takenBack: true });
  await binary.restore();
  return { kind: "give up", from: trial.from, to: trial.to };
}

/**
 * Puts a new version in place, on trial. The backup is always the last version that proved itself: one that never did is not
 * worth keeping. A failure leaves things as they were, an earlier trial included.
 */
export async function exchange(binary: Binary, newPath: string, from: string, to: string): Promise<void> {
  const earlier = await read(binary);
  const unproven = earlier?.to === from && !earlier.takenBack;
  await write(binary, { from: unproven ? earlier.from : from, to, starts: 0 });
  try {
    await binary.replaceWith(newPath, !unproven);
  } catch (error) {
    if (earlier === undefined) await endTrial(binary);
    else await write(binary, earlier);
    throw error;
  }
}

/** It stands, or it never began. */
export async function endTrial(binary: Binary): Promise<void> {
  await rm(binary.statePath, { force: true });
}

/** What a power cut left of a download; not while somebody else is at it, nor where nothing can be removed. */
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
    // What cannot be read is no reason not to start.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function write(binary: Binary, trial: Trial): Promise<void> {
  return replaceFile(binary.statePath, JSON.stringify(trial), { mode: 0o644 });
}
