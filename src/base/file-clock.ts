/** The clock of a file system ticks every few milliseconds: two changes within one tick have the same time. */
export const fileClockTickMs = 50;
