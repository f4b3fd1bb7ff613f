import { expect, test } from "bun:test";
import { type ClientError, NodeServerClient, PermissionDenied } from "../../src/client/index.ts";
import { testNode } from "../support/node.ts";

test("a request that was refused is sent once more with the token that there is by then", async () => {
  await using node = await testNode();
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  const wrong = "nobody:nothing";
  let token = wrong;
  const seen: string[] = [];
  const client = new NodeServerClient(node.url, {
    // Asked for, and waited for, before every request.
    token: async () => token,
    onError: (error: ClientError) => {
      seen.push(error.name);
      token = node.superToken;
      return true;
    },
  });
  const files = client.bucket("site");
  const works: Record<string, () => Promise<unknown>> = {
    call: () => client.call("static-bucket_list"),
    batch: () => client.batch([["static-bucket_list"], ["static-bucket_read", { name: "site" }]]),
    upload: () => files.upload("a.txt", "a"),
    list: () => files.list(),
  };
  for (const [name, work] of Object.entries(works)) {
    token = wrong;
    const result = JSON.stringify(await work());
    expect([name, result.includes("PermissionDenied")]).toEqual([name, false]);
  }
  expect(seen).toEqual(["PermissionDenied", "PermissionDenied", "FileDenied", "FileDenied"]);
  token = wrong;
  const log = client.followLog({ log_filter: "info" });
  // A subscription is refused once; the next one asks for the token again.
  expect(await log.next().catch((error: unknown) => error instanceof PermissionDenied)).toBe(true);
  token = node.superToken;
  expect(await client.followLog({ log_filter: "info" }).next()).toMatchObject({
    value: { kind: "connected" },
  });
});

test("an error that nobody answers for is thrown after one try", async () => {
  await using node = await testNode();
  let asked = 0;
  const client = new NodeServerClient(node.url, {
    token: "nobody:nothing",
    onError: () => {
      asked += 1;
      return false;
    },
  });
  const refused = await client.call("static-bucket_list").catch((error: unknown) => error);
  expect([refused instanceof PermissionDenied, asked]).toEqual([true, 1]);
  const [answer] = await client.batch([["static-bucket_list"]]);
  expect([answer instanceof PermissionDenied, asked]).toEqual([true, 2]);
});

test("a refusal says why as data", () => {
  const refusal = (data: Record<string, unknown>) =>
    new PermissionDenied("no", 102, "PermissionDenied", data);
  expect(refusal({ reason: "expired" }).reason).toBe("expired");
  expect(refusal({ reason: "whatever" }).reason).toBeUndefined();
  expect(refusal({}).reason).toBeUndefined();
});
