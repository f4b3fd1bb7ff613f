import { expect } from "bun:test";
import { eachDatabase, eachStore, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { inSite, linkSite, type Made, notValid, until } from "./link-site.ts";

const sharedNode = sharedNodes();

interface Listed {
  readonly id: string;
  readonly state: "valid" | "used_up" | "ended";
  readonly downloads?: number;
}

eachStore("of many downloads at once exactly as many succeed as the link is good for", async (options) => {
  await using node = await sharedNode(options);
  const { make, answer, whyNot } = await linkSite(node, { "a.txt": "a" });
  const { address, id } = await make("a.txt", { max_downloads: 5 });
  const answers = await Promise.all(Array.from({ length: 20 }, () => answer(address)));
  expect(answers.filter(([status, text]) => status === 200 && text === "a")).toHaveLength(5);
  expect(answers.filter(([status]) => status === 410)).toHaveLength(15);
  const listed = (await node.call("static-bucket_links", [node.superToken, node.bucket])) as Listed[];
  expect(listed).toMatchObject([{ id: id ?? "", downloads: 5, max_downloads: 5, state: "used_up" }]);
  expect(await whyNot(address)).toEqual([410, "used_up"]);
});

eachStore("what is sent is counted, also a part of it, and nothing else", async (options) => {
  await using node = await sharedNode(options);
  const { make, ask, answer } = await linkSite(node, { "a.txt": "0123456789" });
  const { address } = await make("a.txt", { max_downloads: 2 });
  const head = await ask(address, { method: "HEAD" });
  const etag = head.headers.get("etag") ?? "";
  expect([head.status, head.headers.get("accept-ranges")]).toEqual([200, "none"]);
  expect(await answer(address, { headers: { "if-none-match": etag } })).toEqual([304, ""]);
  expect(await answer(address, { headers: { "if-match": '"x"' } })).toEqual([412, ""]);
  expect(await answer(address, { headers: { range: "bytes=10-" } })).toEqual([416, ""]);
  expect(await answer(address, { headers: { range: "bytes=1-" } })).toEqual([206, "123456789"]);
  const listed = (await node.call("static-bucket_links", [node.superToken, node.bucket])) as Listed[];
  expect(listed.map(({ downloads }) => downloads)).toEqual([1]);
  expect(await answer(address)).toEqual([200, "0123456789"]);
  expect((await answer(address))[0]).toBe(410);
});

eachDatabase(
  "links are listed with their uses until they end, and each is revoked by its maker or the bucket's",
  async (database) => {
    await using node = await testNode({ database });
    const { answer, ask, make, whyNot } = await linkSite(node, { "a.txt": "a", "b.txt": "b" });
    const [anna, bob] = [
      await node.newToken(inSite(node, "read")),
      await node.newToken(inSite(node, "read", "list")),
    ];
    const link = (token: string, more: Record<string, unknown>) =>
      node.call("static-bucket-file_link", { token, name: "site", path: "a.txt", ...more }) as Promise<Made>;
    const plain = await link(anna, {});
    // The form of the links of older versions without a limit or a password.
    const unlisted = await link(anna, { listed: false });
    expect(unlisted.id).toBeUndefined();
    const limited = await link(anna, { max_downloads: 9 });
    const locked = await link(bob, { password: "open" });
    const box = await make("in", { upload: true, max_downloads: 1, expires_in: 3600 });
    const list = async () =>
      (await node.call("static-bucket_links", { token: bob, name: "site" })) as Listed[];
    const listed = await list();
    expect(JSON.stringify(listed)).not.toContain("argon2");
    expect(listed).toHaveLength(4);
    expect(listed).toContainEqual({
      id: locked.id ?? "",
      kind: "download",
      path: "a.txt",
      by: bob.split(":")[0] ?? "",
      created: expect.any(Number),
      expires: locked.expires,
      password: true,
      downloads: 0,
      state: "valid",
    } as never);
    expect(listed.find(({ id }) => id === box.id)).toMatchObject({
      kind: "upload",
      path: "in",
      downloads: 0,
    });
    const unlink = { name: "site", id: limited.id };
    const refusal = await node.refused("static-bucket_unlink", { token: bob, ...unlink });
    expect(refusal.data.reason).toBe("missing_permission");
    expect(await answer(limited.address)).toEqual([200, "a"]);
    await node.call("static-bucket_unlink", { token: anna, ...unlink });
    expect(await whyNot(limited.address)).toEqual([410, "revoked"]);
    expect((await node.refused("static-bucket_unlink", { token: anna, ...unlink })).data.field).toBe("id");
    const generation = { token: node.superToken, name: "site", id: "generation" };
    expect((await node.refused("static-bucket_unlink", generation)).data.field).toBe("id");
    await node.call("static-bucket_unlink", { token: node.superToken, name: "site", id: locked.id });
    const both = [box.id ?? "", plain.id ?? ""].sort();
    expect((await list()).map(({ id }) => id).sort()).toEqual(both);
    await ask(plain.address, { headers: { "if-none-match": "*" } });
    const uses = [{}, { range: "bytes=0-" }, { range: "bytes=-1" }].map((headers) =>
      answer(plain.address, { headers }),
    );
    expect((await Promise.all(uses)).map(([, text]) => text)).toEqual(["a", "a", "a"]);
    const used = async () => (await list()).find(({ id }) => id === plain.id);
    expect(await used()).toMatchObject({ downloads: 2, state: "valid" });
    expect(await answer(unlisted.address)).toEqual([200, "a"]);
    const short = await link(anna, { max_downloads: 1, expires_in: 1 });
    await until(async () => (await ask(short.address, { method: "HEAD" })).status, 410);
    expect((await list()).map(({ id }) => id).sort()).toEqual(both);
    expect(await whyNot(short.address)).toEqual([410, "expired"]);
    await node.call("token_delete", { token: node.superToken, target_token: anna.split(":")[0] });
    for (const { address } of [plain, unlisted]) expect(await answer(address)).toEqual([404, notValid]);
    expect((await used())?.state).toBe("ended");
    const long = await link(bob, { listed: false, expires_in: 30 * 86_400 });
    expect(long.expires - Date.now()).toBeLessThanOrEqual(86_400_000);
  },
);

test("a link into a public bucket says where everybody can read the file, and takes no password or limit", async () => {
  await using node = await sharedNode();
  const { make, refused, answer } = await linkSite(node, { "a b.txt": "a" });
  const host = `${node.bucket.replace("_", "-")}.example.org`;
  await node.call("static-bucket_update", {
    token: node.superToken,
    name: node.bucket,
    public: true,
    hosts: [host],
  });
  const address = `/node/static/${node.bucket}/a%20b.txt`;
  for (const [field, value] of [
    ["password", "open"],
    ["max_downloads", 1],
  ] as const)
    expect((await refused("a b.txt", { [field]: value })).data).toMatchObject({
      field,
      reason: "public_bucket",
      address,
    });
  const made = await make("a b.txt", { note: "hello" });
  expect(made).toMatchObject({ host, public_address: address });
  expect(await answer(address)).toEqual([200, "a"]);
  expect((await make("in", { upload: true, password: "open" })).public_address).toEndWith("/in");
  await node.call("static-bucket_update", { token: node.superToken, name: node.bucket, public: false });
  expect(await make("a b.txt", { password: "open" })).not.toHaveProperty("public_address");
});
