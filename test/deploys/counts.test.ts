import { expect, spyOn } from "bun:test";
import { DiskReader } from "../../src/buckets/trees/disk/read.ts";
import { EntryReader } from "../../src/buckets/trees/rows/entry-reader.ts";
import { deploySite } from "../support/deploys.ts";
import { eachStore, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

eachStore(
  "a list of deploys does not wait until a large tree is counted, and later has its count",
  async (store) => {
    await using node = await testNode(store);
    const site = await deploySite(node);
    await site.write({ "a.txt": "1", "b.txt": "22" });
    const { deploy } = await site.prepare({ "index.html": "one" });
    await site.publish(deploy);
    const gate = Promise.withResolvers<void>();
    using ending = new DisposableStack();
    ending.defer(gate.resolve);
    const held = ({ prototype }: typeof EntryReader | typeof DiskReader) => {
      const { fileSizes } = prototype;
      return spyOn(prototype, "fileSizes").mockImplementation(async function* (
        this: EntryReader & DiskReader,
      ) {
        await gate.promise;
        yield* fileSizes.call(this);
      });
    };
    using _rows = held(EntryReader);
    using _disk = held(DiskReader);
    for (let list = 0; list < 2; list += 1)
      expect((await site.list()).map(({ files, bytes }) => [files, bytes])).toEqual([
        [null, null],
        [null, null],
      ]);
    gate.resolve();
    await until("both are counted", async () =>
      Bun.deepEquals(
        (await site.list()).map(({ files, bytes }) => [files, bytes]),
        [
          [1, 3],
          [2, 3],
        ],
      ),
    );
  },
);
