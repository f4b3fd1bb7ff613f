const closers: Array<() => Promise<void>> = [];

/** atRunEnd closes something that all test files of a run share, such as a browser, when the last of them is done. */
export function atRunEnd(close: () => Promise<void>): void {
  closers.push(close);
}

/** closeShared is called by the preloaded file, whose hooks are those of the whole run. */
export async function closeShared(): Promise<void> {
  await Promise.all(closers.splice(0).map((close) => close()));
}
