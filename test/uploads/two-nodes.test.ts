import { expect, test } from "bun:test";
import { SQL } from "bun";
import { limitDatabase } from "../support/database-limits.ts";
import { testNode } from "../support/node.ts";
import { lockWaiters } from "../support/postgres.ts";
import { postgresRelay } from "../support/postgres-relay.ts";
import { distinctBytes, resumable } from "../support/resumable.ts";
import { storedSite } from "../support/stored-site.ts";
import { until } from "../support/until.ts";

const encoded = (text: string) => new TextEncoder().encode(text);

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

test("a finished upload is not put in place again by a client whose answer was lost", async () => {
  await using first = await testNode({ store: "objects over postgres" });
  const { databaseUrl, files, superToken } = first;
  await using relay = await postgresRelay(databaseUrl);
  await using second = await testNode({ store: "objects over postgres", databaseUrl: relay.url, files });
  await limitDatabase(second, 1000);
  const site = await storedSite(first);
  const [here, there] = [resumable(first.url, superToken), resumable(second.url, superToken)];
  const address = await here.address("site/a.txt", 5);
  const sent = Promise.withResolvers<void>();
  let commits = 0;
  relay.cutCommits((hasUpdated) => {
    if (hasUpdated) commits += 1;
    // The first one records that the bytes have arrived, the second one puts the file in place.
    if (commits === 2) sent.resolve(relay.silence());
    return undefined;
  });
  const last = there.append(address, 0, encoded("older"));
  await sent.promise;
  relay.cutCommits();
  await site.write({ "a.txt": "newer" });
  await relay.mend();
  // Whatever it was told, the client asks for the offset and sends the rest.
  await last;
  const offset = await here.offsetOf(address);
  if (offset < 5) await here.append(address, offset, encoded("older").slice(offset));
  expect(await site.text("a.txt")).toBe("newer");
  expect(await here.offsetOf(address)).toBe(5);
}, 60_000);

test("an upload that two nodes finish at once is put in place once, and both say so", async () => {
  await using first = await testNode({ store: "objects over postgres" });
  const { databaseUrl, files, superToken } = first;
  await using second = await testNode({ store: "objects over postgres", databaseUrl, files });
  const site = await storedSite(first);
  const [here, there] = [resumable(first.url, superToken), resumable(second.url, superToken)];
  const address = await here.address("site/a.txt", 4, { "if-none-match": "*" });
  await using outside = new SQL({ url: databaseUrl, max: 1 });
  const holder = await outside.reserve();
  await holder.unsafe("BEGIN");
  await holder.unsafe("SELECT * FROM kv WHERE namespace = 'static-files/heads' FOR UPDATE");
  const waiting = (count: number) => async () => (await lockWaiters(databaseUrl)) === count;
  const one = here.append(address, 0, encoded("text"));
  await until("the first request puts the file in place", waiting(1));
  const other = there.append(address, 3, encoded("t"));
  await until("so does the second one", waiting(2));
  await holder.unsafe("COMMIT");
  holder.release();
  const answers = await Promise.all([one, other]);
  expect(answers.map(({ status, headers }) => [status, headers.get("upload-put-status")])).toEqual(
    Array(2).fill([204, "201"]),
  );
  expect(await site.text("a.txt")).toBe("text");
}, 60_000);
