/** `millisecondsSince` is the time since `start` (of `performance.now()`) in milliseconds, with three decimals. */
export function millisecondsSince(start: number): number {
  return Math.round((performance.now() - start) * 1000) / 1000;
}
