import { expect, test } from "bun:test";
import { testNode } from "../support/node.ts";
import { distinctBytes, resumable } from "../support/resumable.ts";
import { storedSite } from "../support/stored-site.ts";

test("an upload that began on one node is finished on another that shares the store", async () => {
  await using first = await testNode({ store: "objects over postgres" });
  const { databaseUrl, files, superToken } = first;
  await using second = await testNode({ store: "objects over postgres", databaseUrl, files });
  const site = await storedSite(first);
  const [here, there] = [resumable(first.url, superToken), resumable(second.url, superToken)];
  const bytes = distinctBytes(40_000);
  const address = await here.address("site/a.bin", bytes.length);
  expect((await here.append(address, 0, bytes.slice(0, 15_000))).status).toBe(204);
  expect(await there.offsetOf(address)).toBe(15_000);
  // Both go on from the same offset: one of them is told that it is not the present one.
  const both = await Promise.all(
    [here, there].map(({ append }) => append(address, 15_000, bytes.slice(15_000, 30_000))),
  );
  expect(both.map(({ status }) => status).sort()).toEqual([204, 409]);
  expect(await here.offsetOf(address)).toBe(30_000);
  const last = await there.append(address, 30_000, bytes.slice(30_000));
  expect(last.headers.get("upload-put-status")).toBe("201");
  expect(Buffer.from(bytes).equals(await site.bytes("a.bin"))).toBe(true);
  expect(await here.offsetOf(address)).toBe(bytes.length);
});
