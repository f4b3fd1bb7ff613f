import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { Fault } from "../base/fault.ts";
import { Folder, isInside } from "../base/folder.ts";
import { toTreeFault } from "./disk-faults.ts";
import { notFound } from "./ground.ts";
import { childPath, type TreePath } from "./path.ts";

/** What could not be done to one of many. */
export interface Failure {
  readonly path: TreePath;
  readonly fault: Fault;
}

/** Removes a file or folder on the disk piece by piece, links as links, so that each piece that stays can be told. */
export async function dismantle(parent: Folder, name: string, path: TreePath): Promise<Failure[]> {
  try {
    if (!(await lstat(parent.at(name))).isDirectory()) {
      await rm(parent.at(name));
      return [];
    }
    const failures: Failure[] = [];
    const folder = await Folder.open(parent.at(name));
    try {
      if (!isInside(folder.realPath, parent.realPath)) throw notFound(path);
      for (const child of await readdir(folder.at("")))
        failures.push(...(await dismantle(folder, child, childPath(path, child))));
    } finally {
      await folder.close();
    }
    if (failures.length === 0) await rmdir(parent.at(name));
    return failures;
  } catch (error) {
    const fault = toTreeFault(error, path);
    if (!(fault instanceof Fault)) throw error;
    return fault.kind === "NotFound" ? [] : [{ path, fault }];
  }
}

/** The same for what has a disk path of its own. */
export async function dismantleAt(folder: string, name: string, path: TreePath): Promise<Failure[]> {
  const held = await Folder.open(folder);
  try {
    return await dismantle(held, name, path);
  } finally {
    await held.close();
  }
}
