import { expect, test } from "bun:test";
import fc from "fast-check";
import { PathMutex } from "../../src/base/concurrency.ts";

/** Work that says when it began and ends when it is told to. */
function errand(mutex: PathMutex, paths: string[], begun: string[], name = paths.join(" ")) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const result = mutex.run(paths, () => {
    begun.push(name);
    return promise;
  });
  return { result, end: () => resolve(name), fail: () => reject(new RangeError(name)) };
}

/** Long enough for everything that can run to run. */
const settle = () => Bun.sleep(1);

test("work on one path runs one after the other, in the order it came", async () => {
  const mutex = new PathMutex();
  const begun: string[] = [];
  const errands = ["first", "second", "third"].map((name) => errand(mutex, ["a/b"], begun, name));
  for (const [at, { end, result }] of errands.entries()) {
    await settle();
    expect(begun).toEqual(["first", "second", "third"].slice(0, at + 1));
    end();
    expect(await result).toBe(["first", "second", "third"][at] ?? "");
  }
});

test("paths meet when they are the same or one is above the other, by whole names", async () => {
  const stories: Array<[held: string, wanted: string, meet: boolean]> = [
    ["a/b", "a/b", true],
    ["a", "a/b/c", true],
    ["a/b/c", "a", true],
    ["", "a", true],
    ["a", "", true],
    ["", "", true],
    ["a", "ab", false],
    ["a/b", "a/bc", false],
    ["ab/c", "a", false],
    ["a/b", "a/c", false],
    ["a/b", "b", false],
    ["a", "A", false],
  ];
  // Many paths are compared in another way than few.
  const beside = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}/${at}`);
  for (const count of [0, 20])
    for (const [held, wanted, meet] of stories) {
      const mutex = new PathMutex();
      const begun: string[] = [];
      const first = errand(mutex, [...beside("y", count), held], begun, "held");
      const second = errand(mutex, [wanted, ...beside("z", count)], begun, "wanted");
      await settle();
      expect({ held, wanted, begun }).toEqual({ held, wanted, begun: meet ? ["held"] : ["held", "wanted"] });
      first.end();
      second.end();
      await Promise.all([first.result, second.result]);
      expect(begun).toEqual(["held", "wanted"]);
    }
});

test("work on two paths waits for both and keeps both from others", async () => {
  const mutex = new PathMutex();
  const begun: string[] = [];
  const from = errand(mutex, ["from/x"], begun);
  const to = errand(mutex, ["to"], begun);
  const move = errand(mutex, ["from", "to/y"], begun);
  const later = errand(mutex, ["to/y/z"], begun);
  const apart = errand(mutex, ["elsewhere"], begun);
  await settle();
  expect(begun).toEqual(["from/x", "to", "elsewhere"]);
  from.end();
  await settle();
  expect(begun).toHaveLength(3);
  to.end();
  await settle();
  expect(begun.slice(3)).toEqual(["from to/y"]);
  move.end();
  await settle();
  expect(begun.slice(4)).toEqual(["to/y/z"]);
  later.end();
  apart.end();
  await Promise.all([from, to, move, later, apart].map(({ result }) => result));
});

test("work that fails, at once or later, tells its own caller and lets the next begin", async () => {
  const mutex = new PathMutex();
  const begun: string[] = [];
  const failing = errand(mutex, ["a"], begun, "failing");
  const next = errand(mutex, ["a/b"], begun, "next");
  const outcome = failing.result.catch((error: unknown) => error);
  failing.fail();
  expect(await outcome).toEqual(new RangeError("failing"));
  await settle();
  expect(begun).toEqual(["failing", "next"]);
  next.end();
  await next.result;
  const thrown = mutex.run(["a"], () => {
    throw new TypeError("at once");
  });
  await expect(thrown).rejects.toThrow(new TypeError("at once"));
  expect(await mutex.run([""], async () => "free")).toBe("free");
});

test("whatever comes in whatever order, no two that meet run at once, and all come to an end", async () => {
  const path = fc.array(fc.constantFrom("a", "b", "ab"), { maxLength: 3 }).map((names) => names.join("/"));
  const work = fc.record({
    paths: fc.array(path, { minLength: 1, maxLength: 2 }),
    steps: fc.nat(3),
    fails: fc.boolean(),
  });
  const meet = (a: string, b: string) => `${b}/`.startsWith(a && `${a}/`) || `${a}/`.startsWith(b && `${b}/`);
  await fc.assert(
    fc.asyncProperty(fc.array(work, { maxLength: 20 }), async (errands) => {
      const mutex = new PathMutex();
      const running = new Set<string[]>();
      const ended = await Promise.allSettled(
        errands.map(({ paths, steps, fails }) =>
          mutex.run(paths, async () => {
            for (const others of running)
              expect(others.some((a) => paths.some((b) => meet(a, b)))).toBe(false);
            running.add(paths);
            for (let step = 0; step < steps; step += 1) await Promise.resolve();
            running.delete(paths);
            if (fails) throw new RangeError("as told");
          }),
        ),
      );
      expect(ended.map((end) => end.status === "rejected" && end.reason instanceof RangeError)).toEqual(
        errands.map(({ fails }) => fails),
      );
    }),
    { numRuns: 200 },
  );
});
