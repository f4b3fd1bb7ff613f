/**
 * `fileClockTickMs` is more than one tick of a file system's clock: two changes within one tick have the same modification time.
 */
export const fileClockTickMs = 50;
