import type { Buckets } from "../../buckets/buckets.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Look, Tree } from "../../buckets/tree.ts";
import type { Representation } from "../content/respond.ts";

/** One form of a file, in memory, with everything decided. */
export interface HotForm {
  readonly representation: Representation;
  readonly blob: Blob;
  /** The answer to a plain GET, but for the body. */
  readonly whole: ResponseInit;
  /** The answer to who has it already. */
  readonly unchanged: ResponseInit;
  /** What must be as it was for the form to count, things that were not there among them. */
  readonly guards: readonly Look[];
}

interface KeptForm extends HotForm {
  /** The turn in which it was last held against the disk. */
  checked: number;
}

/** An address whose answer is in memory. */
export interface HotFile {
  readonly address: string;
  readonly bucket: Bucket;
  readonly tree: Tree;
  readonly compressible: boolean;
}

interface Kept extends HotFile {
  /** By the encodings that the client takes, in its order. */
  readonly forms: Map<string, KeptForm>;
  bytes: number;
  /** Asked for since the last time room was made. */
  used: boolean;
}

/**
 * Small files that are asked for often. Nothing in here is believed without a look at the disk in the same turn of the event
 * loop. One look serves all requests of the turn: they were under way when it began, so each of them began before any change
 * that the look did not see.
 */
export class HotFiles {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #turn = 1;
  /** Whether folders are what they were, in this turn. */
  readonly #folders = new Map<string, boolean>();
  #armed = false;

  constructor(private readonly budget: () => number) {}

  file(address: string): HotFile | undefined {
    return this.#kept.get(address);
  }

  /** The form if it is in memory and still what the bucket's record and the disk say. */
  form(file: HotFile, accepted: string, buckets: Buckets): HotForm | undefined {
    const kept = file as Kept;
    const form = kept.forms.get(accepted);
    if (form === undefined) return undefined;
    kept.used = true;
    if (form.checked === this.#turn) return form;
    if (!buckets.isCurrent(kept.bucket)) return undefined;
    this.#arm();
    if (!form.guards.every((guard) => kept.tree.isUnchanged(guard, this.#folders))) {
      this.#drop(kept);
      return undefined;
    }
    form.checked = this.#turn;
    return form;
  }

  keep(file: HotFile, accepted: string, form: HotForm): void {
    const { address } = file;
    const size = form.blob.size + address.length * 2 + 1024;
    this.#makeRoom();
    if (size > this.budget() / 8) return;
    const present = this.#kept.get(address);
    if (present !== undefined && present.bucket !== file.bucket) this.#drop(present);
    const kept = this.#kept.get(address) ?? { ...file, forms: new Map(), bytes: 0, used: true };
    if (kept.forms.has(accepted)) return;
    kept.forms.set(accepted, { ...form, checked: 0 });
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

  #drop(kept: Kept): void {
    this.#kept.delete(kept.address);
    this.#bytes -= kept.bytes;
  }

  #arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    setImmediate(() => {
      this.#armed = false;
      this.#turn += 1;
      this.#folders.clear();
    });
  }
}
