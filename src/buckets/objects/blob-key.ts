const form = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** newBlobKey is a random UUID (version 7): keys sort by the time at which they were made. */
export function newBlobKey(): string {
  return Bun.randomUUIDv7();
}

/** isBlobKey tells whether a name in the store is that of a blob. */
export function isBlobKey(name: string): boolean {
  return form.test(name);
}

/** blobKeyTimeMs is when the key was made, in Unix milliseconds, by the clock of the node that made it. */
export function blobKeyTimeMs(key: string): number {
  return Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16);
}
