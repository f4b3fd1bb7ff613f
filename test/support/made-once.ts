import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rename, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "../../src/base/fault.ts";
import { atRunEnd } from "./run-end.ts";

/** Longer than a busy machine takes to compile the server. */
const maxMakeMs = 170_000;

let folder: Promise<string> | undefined;

/** The folder that `npm test` gives to all its processes; one of its own for a process that was started alone. Every user can reach it. */
function sharedFolder(): Promise<string> {
  folder ??= process.env.NODE_SERVER_TEST_SHARED
    ? Promise.resolve(process.env.NODE_SERVER_TEST_SHARED)
    : ownFolder();
  return folder;
}

async function ownFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "node-server-shared-"));
  await chmod(path, 0o755);
  atRunEnd(async () => {
    folder = undefined;
    await rm(path, { recursive: true, force: true });
  });
  return path;
}

/** madeOnce makes a file or folder, or waits until another process of the run has made it; returns its path. Nobody may change it. */
export async function madeOnce(name: string, make: (path: string) => Promise<void>): Promise<string> {
  const path = join(await sharedFolder(), name);
  const lock = `${path}.lock`;
  const takeLock = () => mkdir(lock).then(() => true, falseIfExists);
  for (const begin = Date.now(); !existsSync(path) && !(await takeLock()); await Bun.sleep(20))
    if (Date.now() > begin + maxMakeMs) throw new Error(`another process has not made ${path} in time`);
  if (existsSync(path)) return path;
  try {
    await make(`${path}.new`);
    await rename(`${path}.new`, path);
  } finally {
    await rmdir(lock);
  }
  return path;
}

function falseIfExists(error: unknown): false {
  if (codeOf(error) === "EEXIST") return false;
  throw error;
}
