import { expect, test } from "bun:test";
import { Body } from "../../src/client/content.ts";

for (const last of [true, false])
  test(`a request that ends while a piece is read is no error of the source (last piece: ${last})`, async () => {
    const reading = Promise.withResolvers<void>();
    const piece = Promise.withResolvers<void>();
    let isReleased = false;
    async function* source() {
      try {
        reading.resolve();
        await piece.promise;
        if (!last) yield "more";
      } finally {
        isReleased = true;
      }
    }
    const reported: number[] = [];
    const body = new Body(source(), (bytes) => reported.push(bytes));
    const reader = body.stream.getReader();
    const read = reader.read();
    await reading.promise;
    const cancelled = reader.cancel();
    piece.resolve();
    await cancelled;
    expect(await read).toMatchObject({ done: true });
    expect({ failure: body.failure, reported, isReleased }).toEqual({
      failure: undefined,
      reported: [],
      isReleased: true,
    });
  });
