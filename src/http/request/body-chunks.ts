/** A chunk below this size is followed by a pause. */
const smallBytes = 16 * 1024;

/**
 * bodyChunks reads the body of a request as it arrives. After a small chunk the event loop gets to other requests, and what arrives
 * meanwhile comes as one chunk: a client that sends a byte at a time costs two reads per turn of the loop, not one per byte. After
 * a large chunk there is no pause, because Bun would take in more of an upload than is written.
 */
export async function* bodyChunks({ body }: Request): AsyncGenerator<Uint8Array> {
  for await (const chunk of body ?? []) {
    yield chunk;
    if (chunk.byteLength < smallBytes) await new Promise((resolve) => setImmediate(resolve));
  }
}
