/** Chunks read before the event loop gets to other requests; those that arrive meanwhile come as one. */
const chunksPerTick = 64;

/** bodyChunks reads the body of a request as it arrives. A client that sends a byte at a time does not keep the event loop busy. */
export async function* bodyChunks({ body }: Request): AsyncGenerator<Uint8Array> {
  let count = 0;
  for await (const chunk of body ?? []) {
    yield chunk;
    count += 1;
    if (count % chunksPerTick === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}
