import { FFIType, type Pointer, ptr } from "bun:ffi";
import { openLibc } from "./local-calls.ts";

/** The longest path that Linux takes, without the zero byte at its end. */
const maxPathBytes = 4095;

/**
 * Attribute is an extended attribute of files. Calls are synchronous: they are for local disks. A file system without attributes is like
 * a file without this one.
 */
export class Attribute {
  // Every call uses the same memory. None of them waits.
  readonly #name: Buffer;
  /** What `read` has found. */
  readonly value: Buffer;
  readonly #addresses: { readonly name: Pointer; readonly value: Pointer };

  /** `name` is that in the namespace `user`. */
  constructor(name: string, maxBytes: number) {
    this.#name = Buffer.from(`user.${name}\0`);
    this.value = Buffer.alloc(maxBytes);
    this.#addresses = { name: ptr(this.#name), value: ptr(this.value) };
  }

  /** Reads the value of an open file, or of the file at a path, into `value`, and returns its length; 0 if there is none. */
  read(file: number | string): number {
    const calls = attributeCalls();
    if (calls === undefined) return 0;
    const { name, value } = this.#addresses;
    const max = this.value.length;
    const bytes =
      typeof file === "number"
        ? calls.fgetxattr(file, name, value, max)
        : calls.getxattr(addressOf(file), name, value, max);
    return Math.max(0, Number(bytes));
  }

  /** Sets the value, as `fill` writes it; `fill` returns its length. False if it could not be set. */
  write(file: number | string, fill: (value: Buffer) => number): boolean {
    const calls = attributeCalls();
    if (calls === undefined) return false;
    const { name, value } = this.#addresses;
    const bytes = fill(this.value);
    const failed =
      typeof file === "number"
        ? calls.fsetxattr(file, name, value, bytes, 0)
        : calls.setxattr(addressOf(file), name, value, bytes, 0);
    return failed === 0;
  }
}

const path = Buffer.alloc(maxPathBytes + 1);
const pathAddress = ptr(path);

/** A path that is too long is cut, and what it then leads to is another file. */
function addressOf(text: string): Pointer {
  path[path.write(text, 0, maxPathBytes)] = 0;
  return pathAddress;
}

function openAttributeCalls() {
  if (process.platform !== "linux") return undefined;
  return openLibc({
    fgetxattr: { args: ["i32", "ptr", "ptr", "u64"], returns: FFIType.i64_fast },
    getxattr: { args: ["ptr", "ptr", "ptr", "u64"], returns: FFIType.i64_fast },
    fsetxattr: { args: ["i32", "ptr", "ptr", "u64", "i32"], returns: "i32" },
    setxattr: { args: ["ptr", "ptr", "ptr", "u64", "i32"], returns: "i32" },
  });
}

/** Null until it is first needed. */
let opened: ReturnType<typeof openAttributeCalls> | null = null;

function attributeCalls() {
  if (opened === null) opened = openAttributeCalls();
  return opened;
}
