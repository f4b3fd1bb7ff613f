import { dlopen, type FFIFunction, type Library } from "bun:ffi";

/** Functions of the C library, whichever this system has; undefined where it has neither. */
export function openLibc<const S extends Record<string, FFIFunction>>(
  symbols: S,
): Library<S>["symbols"] | undefined {
  for (const name of ["libc.so.6", "libc.so"]) {
    try {
      return dlopen(name, symbols).symbols;
    } catch {
      // The other one is tried next.
    }
  }
  return undefined;
}
