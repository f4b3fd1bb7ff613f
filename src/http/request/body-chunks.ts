/**
 * bodyChunks reads the body of a request as it arrives. Between two reads the event loop gets to other requests, and what arrives
 * meanwhile comes as one chunk: a client that sends a byte at a time costs a read per turn of the loop, not one per byte.
 */
export async function* bodyChunks({ body }: Request): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const chunk of body ?? []) {
    yield chunk;
    // A small body is one chunk, whose end is known at once.
    if (!isFirst) await new Promise((resolve) => setImmediate(resolve));
    isFirst = false;
  }
}
