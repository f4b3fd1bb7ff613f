/** So many pieces are taken before others get their turn; what arrives meanwhile comes as one. */
const piecesPerTurn = 64;

/** The body of a request as it arrives. One that is sent a byte at a time does not keep the event loop from others. */
export async function* bodyPieces({ body }: Request): AsyncGenerator<Uint8Array> {
  let taken = 0;
  for await (const piece of body ?? []) {
    yield piece;
    taken += 1;
    if (taken % piecesPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}
