import { lstat, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import type { Folder } from "../../base/folder.ts";
import { randomText } from "../../base/random.ts";
import { stagedPrefix } from "../path.ts";
import { lookAt } from "./stat.ts";

const noteEnding = ".note";

/** What a start after a crash has to know of something that is on its way. */
interface Note {
  readonly at: string;
  /** Where it belongs if nothing else is there. Without: nowhere. */
  readonly home?: string;
}

/** A place for something on its way, on the right file system. */
export interface Spot {
  readonly path: string;
  /** What stood there has gone its way. */
  leave(): Promise<void>;
}

/** Where uploads grow, copies are made and what is replaced steps aside. A start clears it. */
export class Staging {
  constructor(private readonly folder: string) {}

  /** A place on the file system of the staging folder itself. */
  async here(): Promise<string> {
    await mkdir(this.folder, { recursive: true });
    return join(this.folder, randomText(16));
  }

  /** A place from which a rename into `parent` works. What is put there and belongs `home` comes back after a crash. */
  async near(parent: Folder, home?: string): Promise<Spot> {
    const own = await this.here();
    const [mine, its] = await Promise.all([stat(this.folder), stat(parent.at(""))]);
    const name = `${stagedPrefix}${randomText(16)}`;
    const [path, at] = mine.dev === its.dev ? [own, own] : [parent.at(name), join(parent.realPath, name)];
    if (at === own && home === undefined) return { path, leave: async () => {} };
    const note: Note = home === undefined ? { at } : { at, home: join(parent.realPath, home) };
    await writeFile(own + noteEnding, JSON.stringify(note));
    return { path, leave: () => rm(own + noteEnding, { force: true }) };
  }

  /** Finishes or undoes what a crash cut short. To be called before anything is changed. Says what could not be cleared. */
  async clear(): Promise<string[]> {
    const names = await namesIn(this.folder);
    const stayed: string[] = [];
    // The notes first: they say what of the rest is to be kept.
    for (const name of names.sort((a, b) => Number(isNote(b)) - Number(isNote(a)))) {
      const path = join(this.folder, name);
      try {
        if (isNote(name)) await settle(path);
        await rm(path, { recursive: true, force: true });
      } catch (error) {
        stayed.push(`${name}: ${messageOf(error)}`);
      }
    }
    return stayed;
  }
}

function isNote(name: string): boolean {
  return name.endsWith(noteEnding);
}

async function settle(notePath: string): Promise<void> {
  const { at, home } = parseNote(await readFile(notePath, "utf8"));
  if (at === undefined || (await lookAt(at, lstat)) === undefined) return;
  if (home !== undefined && (await lookAt(home, lstat)) === undefined) await rename(at, home);
  else await rm(at, { recursive: true, force: true });
}

/** A note that was cut short itself was written before anything was done. */
function parseNote(text: string): Partial<Note> {
  try {
    return JSON.parse(text) as Note;
  } catch {
    return {};
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw new Fault("IoError", `${folder} cannot be read: ${messageOf(error)}`);
  }
}
