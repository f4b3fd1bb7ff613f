import type { Stats } from "node:fs";
import type { TreePath } from "../buckets/path.ts";
import type { Bucket } from "../buckets/record.ts";
import type { Tree } from "../buckets/tree.ts";
import type { Encoding } from "./encoding.ts";
import type { Representation } from "./representation.ts";

/** What must be as it was for a form to count: a file with these stats, or no file at all. */
export interface Guard {
  readonly path: TreePath;
  readonly stats: Stats | undefined;
}

/** One form of a file, in memory, with everything decided. */
export interface HotForm {
  readonly representation: Representation;
  readonly blob: Blob;
  /** The answer to a plain GET, but for the body. */
  readonly whole: ResponseInit;
  readonly guards: readonly Guard[];
}

/** An address whose answer is in memory. */
export interface HotFile {
  readonly bucket: Bucket;
  readonly tree: Tree;
  readonly compressible: boolean;
  readonly forms: Map<Encoding | "plain", HotForm>;
}

interface Kept {
  readonly file: HotFile;
  bytes: number;
  /** Asked for since the last time room was made. */
  used: boolean;
  /** The turn in which each form was last held against the disk. */
  readonly checked: Map<Encoding | "plain", number>;
}

/**
 * Small files that are asked for often. Nothing in here is believed without a look at the disk, once in a turn of the event
 * loop: all requests of a turn had arrived before it began, so none of them can have been sent after a change that the look
 * did not see.
 */
export class HotFiles {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #turn = 1;
  #armed = false;

  constructor(private readonly budget: () => number) {}

  /** The form if it is in memory and still what is on the disk. */
  form(address: string, encoding: Encoding | "plain"): HotForm | undefined {
    const kept = this.#kept.get(address);
    const form = kept?.file.forms.get(encoding);
    if (kept === undefined || form === undefined) return undefined;
    kept.used = true;
    if (kept.checked.get(encoding) === this.#turn) return form;
    if (!form.guards.every(({ path, stats }) => kept.file.tree.isUnchanged(path, stats))) {
      this.#drop(address, kept);
      return undefined;
    }
    kept.checked.set(encoding, this.#turn);
    this.#arm();
    return form;
  }

  file(address: string): HotFile | undefined {
    return this.#kept.get(address)?.file;
  }

  keep(address: string, file: Omit<HotFile, "forms">, encoding: Encoding | "plain", form: HotForm): void {
    const size = form.blob.size + address.length * 2 + 1024;
    if (size > this.budget() / 8) return;
    const present = this.#kept.get(address);
    if (present !== undefined && present.file.bucket !== file.bucket) this.#drop(address, present);
    const kept = this.#kept.get(address) ?? {
      file: { ...file, forms: new Map() },
      bytes: 0,
      used: true,
      checked: new Map(),
    };
    if (kept.file.forms.has(encoding)) return;
    kept.file.forms.set(encoding, form);
    kept.bytes += size;
    this.#bytes += size;
    this.#kept.set(address, kept);
    this.#makeRoom();
  }

  /** The oldest that nobody asked for goes first; one that was asked for gets a second chance. */
  #makeRoom(): void {
    for (const [address, kept] of this.#kept) {
      if (this.#bytes <= this.budget()) return;
      this.#kept.delete(address);
      if (kept.used) {
        kept.used = false;
        this.#kept.set(address, kept);
      } else {
        this.#bytes -= kept.bytes;
      }
    }
  }

  #drop(address: string, kept: Kept): void {
    this.#kept.delete(address);
    this.#bytes -= kept.bytes;
  }

  #arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    setImmediate(() => {
      this.#armed = false;
      this.#turn += 1;
    });
  }
}
