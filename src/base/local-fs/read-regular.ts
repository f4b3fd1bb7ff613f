import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { atMost } from "../clock.ts";

/** Without O_NONBLOCK, opening a FIFO would wait for its writer. */
const openFlags = constants.O_RDONLY | constants.O_NONBLOCK;

/** The time within which the disk or network mount must deliver a small file. */
const readTimeoutMs = 10_000;

/** The code of the error for a path that leads to a folder, FIFO, socket or device. */
const notRegularCode = "ENOTREGULAR";

/** `readRegularFile` reads a regular file as UTF-8, as `readRegularBytes` does. Invalid bytes become U+FFFD. */
export async function readRegularFile(path: string): Promise<string> {
  return (await readRegularBytes(path)).toString("utf8");
}

/**
 * `readRegularBytes` reads a regular file and follows links. Fails with `ENOTREGULAR` for anything else, and with `ETIMEDOUT` if
 * the disk does not answer, so that no caller waits for ever.
 */
export async function readRegularBytes(path: string): Promise<Buffer> {
  const bytes = await atMost(readOpened(path), { ms: readTimeoutMs });
  if (bytes !== undefined) return bytes;
  throw failure("ETIMEDOUT", `the disk did not answer within ${readTimeoutMs / 1000} s`);
}

async function readOpened(path: string): Promise<Buffer> {
  await using file = await open(path, openFlags);
  if (!(await file.stat()).isFile()) throw notRegular();
  return await file.readFile();
}

/** `readRegularFileSync` reads a regular file as UTF-8. It blocks the process while the disk does not answer. */
export function readRegularFileSync(path: string): string {
  const file = openSync(path, openFlags);
  try {
    if (!fstatSync(file).isFile()) throw notRegular();
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

function notRegular(): Error {
  return failure(notRegularCode, "it is not a regular file");
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
