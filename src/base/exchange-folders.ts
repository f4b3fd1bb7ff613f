import { ptr } from "bun:ffi";
import { renameSync } from "node:fs";
import { openLibc } from "./libc.ts";

/** Numbers of the system call renameat2 of Linux. */
const renameat2 = { x64: 316, arm64: 276 } as Readonly<Record<string, number>>;
const currentFolder = -100;
const exchangeFlag = 2;

/** FolderExchange exchanges the names of two folders, as `exchangeFolders` does. */
export type FolderExchange = (first: string, second: string, aside: string) => void;

/**
 * `exchangeFolders` exchanges the names of two folders of one file system. On Linux that is one step for everybody who looks
 * (`RENAME_EXCHANGE`). Where the system or the file system cannot do that, `aside`, a free name on the same file system, takes
 * the first one for a moment: then this process serves nobody meanwhile, but others may find no folder at the first name, and
 * after a crash it may be at `aside`. Throws as `rename` does; both folders have their old names then.
 */
export function exchangeFolders(first: string, second: string, aside: string): void {
  if (!exchangeAtOnce(first, second)) exchangeInSteps({ first, second, aside, rename: renameSync });
}

export interface StepsOptions {
  readonly first: string;
  readonly second: string;
  readonly aside: string;
  readonly rename: (from: string, to: string) => void;
}

/** `exchangeInSteps` exchanges two folders by three renames, for systems that cannot do it at once. */
export function exchangeInSteps({ first, second, aside, rename }: StepsOptions): void {
  rename(first, aside);
  try {
    rename(second, first);
  } catch (error) {
    rename(aside, first);
    throw error;
  }
  rename(aside, second);
}

function exchangeAtOnce(first: string, second: string): boolean {
  const number = process.platform === "linux" ? renameat2[process.arch] : undefined;
  if (number === undefined) return false;
  const libc = openLibc({
    syscall: { args: ["i64", "i64", "ptr", "i64", "ptr", "i64"], returns: "i64" },
  });
  if (libc === undefined) return false;
  // The names must stay in memory during the call.
  const names = [first, second].map((path) => Buffer.from(`${path}\0`));
  const [from, to] = names.map((name) => ptr(name));
  if (from === undefined || to === undefined) return false;
  return Number(libc.syscall(number, currentFolder, from, currentFolder, to, exchangeFlag)) === 0;
}
