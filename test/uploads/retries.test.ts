import { expect, test } from "bun:test";
import { FileConflict, NodeServerClient, type UploadRetry } from "../../src/client/index.ts";
import { eachStore, type TestNode } from "../support/node.ts";
import { openRelay, type RequestFault } from "../support/relay.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { storedSite } from "../support/stored-site.ts";

const sharedNode = sharedNodes();

const isPut = (line: string) => line.startsWith("PUT ");

/** The story's bucket behind a relay that does these things to its PUT requests, in this order, and nothing to later ones. */
async function siteBehind(node: TestNode, ...faults: RequestFault[]) {
  const relay = await openRelay(Number(new URL(node.url).port), {
    onRequest: (line) => (isPut(line) ? faults.shift() : undefined),
  });
  const retries: UploadRetry[] = [];
  const onRetry = (retry: UploadRetry) => {
    retries.push(retry);
    return undefined;
  };
  const files = new NodeServerClient(relay.url, { token: node.superToken }).bucket(node.bucket);
  return { relay, files, retries, again: { retry: true, onRetry } as const };
}

const lostRequest: RequestFault = { kind: "cut", at: { of: "request", after: 10 } };
const lostAnswer: RequestFault = { kind: "cut", at: { of: "answer", after: 0 } };
const busy: RequestFault = {
  kind: "answer",
  status: "503 Service Unavailable",
  headers: "retry-after: 1\r\n",
};

eachStore("a small file is sent again after lost requests, lost answers and a busy server", async (store) => {
  await using node = await sharedNode(store);
  const site = await storedSite(node);
  const { relay, files, retries, again } = await siteBehind(node, lostRequest, lostAnswer, busy);
  await using _ = relay;
  const { etag } = await files.upload("a.txt", "content", again);
  expect(retries.map(({ error }) => error.name)).toEqual(["Unreachable", "Unreachable", "FileError"]);
  expect(retries[2]?.pauseMs).toBeGreaterThanOrEqual(1000);
  expect(await site.text("a.txt")).toBe("content");
  expect((await site.dav("HEAD", "/a.txt")).headers.get("etag")).toBe(etag ?? "none");
});

eachStore(
  "a conditional upload whose first answer was lost is no conflict with itself, and one with another file is",
  async (store) => {
    await using node = await sharedNode(store);
    const site = await storedSite(node);
    const { relay, files, again } = await siteBehind(node, lostAnswer, lostAnswer);
    await using _ = relay;
    const first = await files.upload("a.txt", "one", { ...again, onlyNew: true });
    expect((await site.dav("HEAD", "/a.txt")).headers.get("etag")).toBe(first.etag ?? "none");
    const second = await files.upload("a.txt", "two", { ...again, ifMatch: first.etag });
    expect([await site.text("a.txt"), second.etag === first.etag]).toEqual(["two", false]);

    await site.dav("PUT", "/theirs.txt", {}, "not mine");
    const { relay: other, files: more } = await siteBehind(node, lostRequest);
    await using __ = other;
    for (const content of ["is mine!", "mine"])
      await expect(more.upload("theirs.txt", content, { ...again, onlyNew: true })).rejects.toThrow(
        FileConflict,
      );
    // Without a failure before it, the same content is a conflict too.
    await expect(more.upload("theirs.txt", "not mine", { ...again, onlyNew: true })).rejects.toThrow(
      FileConflict,
    );
  },
);

test("a pause ends early when the caller says so, and a server that asks for hours is not waited for", async () => {
  await using node = await sharedNode();
  await storedSite(node);
  const inAnHour: RequestFault = { ...busy, headers: "retry-after: 3600\r\n" };
  const inTwoMinutes: RequestFault = { ...busy, headers: "retry-after: 120\r\n" };
  const { relay, files } = await siteBehind(node, inTwoMinutes);
  await using _ = relay;
  await files.upload("a.txt", "a", { retry: true, onRetry: () => Promise.resolve() });
  const { relay: other, files: more } = await siteBehind(node, inAnHour);
  await using __ = other;
  const refused = more.upload("a.txt", "b", { retry: true, onRetry: () => Promise.resolve() });
  await expect(refused).rejects.toMatchObject({ status: 503, retryAfterMs: 3_600_000 });
});
