/** Milliseconds since `start` (of `performance.now()`), to the microsecond. */
export function millisecondsSince(start: number): number {
  return Math.round((performance.now() - start) * 1000) / 1000;
}
