import { expect, test } from "bun:test";
import { type PulledOptions, pulledStream } from "../../src/base/pulled-stream.ts";

/** Numbered pieces, and what happened to them. */
function observed(count: number, { failsAt }: { readonly failsAt?: number } = {}) {
  const events: string[] = [];
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      for (let n = 0; n < count; n += 1) {
        if (n === failsAt) throw new Error(`piece ${n} failed`);
        events.push(`made ${n}`);
        yield Uint8Array.of(n);
      }
    } finally {
      events.push("returned");
    }
  }
  const onEnd = () => events.push("ended");
  return { events, open: (options: PulledOptions = {}) => pulledStream(pieces(), { onEnd, ...options }) };
}

test("a piece is made when it is asked for, and the end is reported once", async () => {
  const { events, open } = observed(2);
  const reader = open().getReader();
  expect(events).toEqual([]);
  expect((await reader.read()).value).toEqual(Uint8Array.of(0));
  expect(events).toEqual(["made 0"]);
  expect((await reader.read()).value).toEqual(Uint8Array.of(1));
  expect(await reader.read()).toMatchObject({ done: true });
  await reader.cancel();
  expect(events).toEqual(["made 0", "made 1", "returned", "ended"]);
});

test("a piece that fails fails the stream", async () => {
  const { events, open } = observed(3, { failsAt: 1 });
  const reader = open().getReader();
  await reader.read();
  await expect(reader.read()).rejects.toThrow("piece 1 failed");
  await expect(reader.cancel()).rejects.toThrow("piece 1 failed");
  expect(events).toEqual(["made 0", "returned", "ended"]);
});

test("a reader that leaves before the first piece makes none", async () => {
  const { events, open } = observed(3);
  await open().cancel();
  expect(events).toEqual(["ended"]);
});

test("a reader that leaves between two pieces ends what makes them", async () => {
  const { events, open } = observed(3);
  const reader = open().getReader();
  await reader.read();
  await reader.cancel();
  expect(events).toEqual(["made 0", "returned", "ended"]);
});

for (const outcome of ["comes", "fails"] as const)
  test(`a reader that leaves while a piece is made interrupts it; the piece ${outcome} afterwards`, async () => {
    const events: string[] = [];
    const begun = Promise.withResolvers<void>();
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    async function* pieces(): AsyncGenerator<Uint8Array> {
      try {
        begun.resolve();
        yield await promise;
        events.push("went on");
      } finally {
        events.push("returned");
      }
    }
    const reader = pulledStream(pieces(), {
      interrupt() {
        events.push("interrupted");
        if (outcome === "comes") resolve(Uint8Array.of(1));
        else reject(new Error("interrupted"));
      },
      onEnd: () => events.push("ended"),
    }).getReader();
    const read = reader.read();
    await begun.promise;
    await Promise.all([reader.cancel(), reader.cancel()]);
    expect(await read).toMatchObject({ done: true });
    expect(events).toEqual(["interrupted", "returned", "ended"]);
  });

test("a client that left ends the pieces although nobody cancels the stream", async () => {
  const left = new AbortController();
  const { events, open } = observed(3);
  const reader = open({ left: left.signal }).getReader();
  await reader.read();
  left.abort();
  await Bun.sleep(0);
  expect(events).toEqual(["made 0", "returned", "ended"]);

  const late = observed(3);
  const stream = late.open({ left: left.signal });
  await Bun.sleep(0);
  expect(late.events).toEqual(["ended"]);
  await stream.cancel();
  expect(late.events).toEqual(["ended"]);
});
