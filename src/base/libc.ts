import { dlopen, type FFIFunction, type Library } from "bun:ffi";

/** `openLibc` opens functions of the C library, glibc or musl; undefined if the system has neither. */
export function openLibc<const S extends Record<string, FFIFunction>>(
  symbols: S,
): Library<S>["symbols"] | undefined {
  for (const name of ["libc.so.6", "libc.so"]) {
    try {
      return dlopen(name, symbols).symbols;
    } catch {
      // Try the other library.
    }
  }
  return undefined;
}
