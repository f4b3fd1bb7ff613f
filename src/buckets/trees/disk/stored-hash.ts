import { ptr } from "bun:ffi";
import { fstatSync } from "node:fs";
import { fileClockTickMs } from "../../../base/local-fs/file-calls.ts";
import { type FileState, openLibc } from "../../../base/local-fs/local-calls.ts";
import { sameContent } from "../../../base/local-fs/stat.ts";
import { maxPathBytes } from "../../path.ts";

// A deploy knows the SHA-256 of each file. It is kept in an extended attribute of the file, so that it goes where the file goes: into
// the place of the published tree, and back. It counts only while nothing has changed the file since; a file that was copied, restored
// or edited by whatever program has none that counts. Calls are synchronous: they are for local disks.

/** With a longer name the attribute would not fit into an inode of 256 bytes, and ext4 would take a block for each file. */
const attributeName = Buffer.from("user.node-server\0");
/** The hash, and three numbers. */
const hashBytes = 32;
const valueBytes = hashBytes + 3 * 8;
const [sizeAt, modifiedAt, changedAt] = [hashBytes, hashBytes + 8, hashBytes + 16];

/**
 * To set the attribute changes the file's ctime to a time that the attribute cannot contain. So it contains the ctime from before, and
 * counts while the ctime is later by this time at most. It is shorter than what `settledAtMs` waits: the tag of a settled file changes
 * with every change.
 */
const maxDelayMs = fileClockTickMs / 2;
/** The first attempt is late if the file was changed a while ago; then the second one is not. */
const maxAttempts = 3;

/**
 * storedHash returns the SHA-256, in hexadecimal, that was stored with an open file, or with the file at a path. Undefined if there is
 * none, or if the file's state tells that it was changed since.
 */
export function storedHash(file: number | string, state: FileState): string | undefined {
  return hashAttribute()?.readFrom(file, state);
}

/**
 * storeHash stores the SHA-256 of the content of an open file, which had this state when it was read. It does nothing if the file was
 * changed since, and where the file system stores no attributes.
 */
export function storeHash(fd: number, sha256: string, read: FileState): void {
  const attribute = hashAttribute();
  if (attribute === undefined) return;
  let state: FileState = fstatSync(fd);
  if (!sameContent(state, read)) return;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    if (!attribute.writeTo(fd, sha256, state)) return;
    state = fstatSync(fd);
    if (attribute.readFrom(fd, state) !== undefined) return;
  }
}

class HashAttribute {
  readonly #libc: NonNullable<ReturnType<typeof openAttributeCalls>>;
  // Every call uses the same memory. None of them waits.
  readonly #value = Buffer.alloc(valueBytes);
  readonly #valueAddress = ptr(this.#value);
  readonly #nameAddress = ptr(attributeName);
  readonly #path = Buffer.alloc(maxPathBytes + 1);
  readonly #pathAddress = ptr(this.#path);

  private constructor(libc: NonNullable<ReturnType<typeof openAttributeCalls>>) {
    this.#libc = libc;
  }

  static open(): HashAttribute | undefined {
    const libc = openAttributeCalls();
    return libc && new HashAttribute(libc);
  }

  readFrom(file: number | string, state: FileState): string | undefined {
    const bytes =
      typeof file === "number"
        ? this.#libc.fgetxattr(file, this.#nameAddress, this.#valueAddress, valueBytes)
        : this.#libc.getxattr(this.#addressOf(file), this.#nameAddress, this.#valueAddress, valueBytes);
    const value = this.#value;
    if (Number(bytes) !== valueBytes) return undefined;
    if (value.readDoubleLE(sizeAt) !== state.size || value.readDoubleLE(modifiedAt) !== state.mtimeMs)
      return undefined;
    const delayMs = state.ctimeMs - value.readDoubleLE(changedAt);
    return delayMs >= 0 && delayMs <= maxDelayMs ? value.toString("hex", 0, hashBytes) : undefined;
  }

  /** A path that is too long is cut, and what it then leads to has another state. */
  #addressOf(path: string) {
    this.#path[this.#path.write(path, 0, maxPathBytes)] = 0;
    return this.#pathAddress;
  }

  /** Returns whether the attribute was set. */
  writeTo(fd: number, sha256: string, { size, mtimeMs, ctimeMs }: FileState): boolean {
    const value = this.#value;
    value.write(sha256, 0, hashBytes, "hex");
    value.writeDoubleLE(size, sizeAt);
    value.writeDoubleLE(mtimeMs, modifiedAt);
    value.writeDoubleLE(ctimeMs, changedAt);
    return this.#libc.fsetxattr(fd, this.#nameAddress, this.#valueAddress, valueBytes, 0) === 0;
  }
}

function openAttributeCalls() {
  if (process.platform !== "linux") return undefined;
  return openLibc({
    fgetxattr: { args: ["i32", "ptr", "ptr", "u64"], returns: "i64" },
    getxattr: { args: ["ptr", "ptr", "ptr", "u64"], returns: "i64" },
    fsetxattr: { args: ["i32", "ptr", "ptr", "u64", "i32"], returns: "i32" },
  });
}

/** Null until it is first needed. */
let opened: HashAttribute | undefined | null = null;

function hashAttribute(): HashAttribute | undefined {
  if (opened === null) opened = HashAttribute.open();
  return opened;
}
