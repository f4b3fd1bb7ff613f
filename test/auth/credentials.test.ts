import { expect } from "bun:test";
import fc from "fast-check";
import { keyOfWholeToken, parseCredentials } from "../../src/auth/credentials.ts";
import { Fault } from "../../src/base/fault.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 });
const without = (separators: RegExp) => text.filter((value) => !separators.test(value));

test("a text that holds `|` is a user name and a password, split at the first one", () => {
  fc.assert(
    fc.property(without(/\|/), text, (name, proof) => {
      expect(parseCredentials(`${name}|${proof}`)).toEqual({ by: "username", name, proof });
    }),
  );
});

test("a text without `|` is a key and a secret, split at the first `:`", () => {
  fc.assert(
    fc.property(without(/[:|]/), without(/\|/), (name, proof) => {
      expect(parseCredentials(`${name}:${proof}`)).toEqual({ by: "key", name, proof });
    }),
  );
});

test("every other text is a ParseError, and what is read never loses a character", () => {
  const mixed = fc.string({ unit: fc.constantFrom(":", "|", "a", "é", " "), maxLength: 12 });
  fc.assert(
    fc.property(mixed, (given) => {
      try {
        const { by, name, proof } = parseCredentials(given);
        expect(`${name}${by === "key" ? ":" : "|"}${proof}`).toBe(given);
        expect(name).not.toBe("");
        expect(proof).not.toBe("");
        expect(by).toBe(given.includes("|") ? "username" : "key");
        expect(name).not.toContain(by === "key" ? ":" : "|");
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        expect(error.kind).toBe("ParseError");
        const at = given.includes("|") ? given.indexOf("|") : given.indexOf(":");
        expect(at <= 0 || at === given.length - 1).toBe(true);
      }
    }),
    { numRuns: 1000 },
  );
});

test("only the exact form of a key and its secret is cut to its key", () => {
  const key = "k".repeat(16);
  const secret = "s".repeat(32);
  expect(keyOfWholeToken(`${key}:${secret}`)).toBe(key);
  for (const other of [
    key,
    `${key}:`,
    `${key}:${secret}x`,
    `${key}x:${secret}`,
    `${key}|${secret}`,
    `${key}:${"-".repeat(32)}`,
    `${key}:${secret}\n`,
    ` ${key}:${secret}`,
  ])
    expect([other, keyOfWholeToken(other)]).toEqual([other, undefined]);
});

const anyAgent = "[agent]:7c9e6679-7425-40de-944b-e07fc1f90ae7";
const readSite = [{ scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] }];

eachDatabase("a user name with `:` is found by every token method", async (database) => {
  await using node = await sharedNode({ database });
  const agent = node.own(anyAgent);
  const { superToken: token, call } = node;
  const made = await node.newToken([], { username: agent, password: "first:word|x" });
  const [key = ""] = made.split(":");
  expect(await call("token_get", { token: `${agent}|first:word|x` })).toMatchObject({ username: agent });
  expect(await call("token_get", { token: agent, supertoken: token })).toMatchObject({ token_key: key });
  expect(await call("token_edit", { token, target_token: agent, limit: readSite })).toMatchObject({
    token_key: key,
  });
  await call("token_change_password", { token, target_token: agent, new_password: "second-word" });
  expect(await call("token_get", { token: `${agent}|second-word` })).toMatchObject({ token_limit: readSite });
  const rolled = (await call("token_roll_token_secret", { token, target_token: agent })) as { key: string };
  expect(rolled.key).toBe(key);
  expect(await call("token_delete", { token, target_token: agent })).toMatchObject({
    rows_affected: 1,
    matched_by: "username",
  });
});

eachDatabase("a target is looked up as it is: no part of it names another token", async (database) => {
  await using node = await sharedNode({ database });
  const agent = node.own(anyAgent);
  const named = node.own("[agent]");
  const token = await node.newToken(readSite, { username: named, password: "right-word" });
  const [key = ""] = token.split(":");
  for (const target_token of [agent, `${named}|right-word`, `${key}:short`, `${key}|x`, `${token}x`])
    expect(
      await node.refused("token_delete", { token: node.superToken, target_token }),
      target_token,
    ).toMatchObject({ code: 105 });
  expect(await node.call("token_delete", { token: node.superToken, target_token: token })).toMatchObject({
    matched_by: "token_key",
  });
});

eachDatabase("Basic authentication splits at the first `:`, whatever user names hold", async (database) => {
  await using node = await sharedNode({ database });
  const agent = node.own(anyAgent);
  const all = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
  const limits = [{ scopes: ["global"], permissions: all }];
  await node.call("static-bucket_create", [node.superToken, node.bucket]);
  await node.newToken(limits, { username: agent, password: "right-word" });
  await node.newToken(limits, { username: "plain", password: "right:word|x" });
  const status = async (name: string, password: string) => {
    const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
    const url = `${node.url}/node/static-webdav/${node.bucket}/`;
    return (await fetch(url, { method: "PROPFIND", headers: { authorization, depth: "0" } })).status;
  };
  expect(await status("plain", "right:word|x")).toBe(207);
  expect(await status(agent, "right-word")).toBe(401);
});

eachDatabase("a user name with `|` is its user's alone, by key and secret and by Basic", async (database) => {
  await using node = await sharedNode({ database });
  const all = ["read", "write", "delete", "list"].map((action) => ({ static_bucket_file: action }));
  const limits = [{ scopes: ["global"], permissions: all }];
  await node.call("static-bucket_create", [node.superToken, node.bucket]);
  const name = node.own("visitor");
  const create = async (username: string, password: string) => {
    const token_creation = { token_limit: limits, username, password };
    const made = await node.call("token_create", [node.superToken, token_creation]);
    return made as { key: string; secret: string; note?: string };
  };
  const short = await create(name, "I a^5!1qH|the-rest");
  const long = await create(`${name}|I a^5!1qH`, "the-rest");
  expect([short.note, long.note]).toEqual([undefined, expect.stringContaining("key and secret")]);
  const keyOf = async (token: string) => {
    const reply = await node.send("token_get", { token });
    return (reply.result as { token_key: string } | undefined)?.token_key ?? reply.error?.code;
  };
  expect(await keyOf(`${long.key}:${long.secret}`)).toBe(long.key);
  // One text, and two users whose name and password it could be: it means the user before the first bar, also once that one is gone.
  expect(await keyOf(`${name}|I a^5!1qH|the-rest`)).toBe(short.key);
  const basic = async (text: string) => {
    const authorization = `Basic ${Buffer.from(text).toString("base64")}`;
    const url = `${node.url}/node/static-webdav/${node.bucket}/`;
    return (await fetch(url, { method: "PROPFIND", headers: { authorization, depth: "0" } })).status;
  };
  expect(await basic(`${name}|I a^5!1qH:the-rest`)).toBe(207);
  expect(await basic(`${name}:I a^5!1qH|the-rest`)).toBe(207);
  await node.call("token_delete", { token: node.superToken, target_token: name });
  expect(await keyOf(`${name}|I a^5!1qH|the-rest`)).toBe(102);
  expect(
    await node.call("token_delete", { token: node.superToken, target_token: `${name}|I a^5!1qH` }),
  ).toMatchObject({ matched_by: "username" });
});

const logging = 'memory_log_filter = "trace"\nmemory_log_capacity = 10000\n';

function logOf({ node }: TestNode): string {
  return node.ring
    .entries()
    .map((entry) => JSON.stringify(entry))
    .join("\n");
}

test("the log names who was refused and from where, and shows no secret that stands in a name", async () => {
  await using node = await testNode({ logging });
  const whole = `${"k".repeat(16)}:${"s".repeat(32)}`;
  await node.refused("token_get", { token: `${anyAgent}|wrong-word` });
  await node.refused("token_get", { token: `${whole}|wrong-word` });
  await node.refused("token_get", { token: whole });
  const warnings = node.node.ring
    .entries()
    .filter(({ level, target }) => level === "WARN" && target === "token");
  expect(warnings.map(({ fields }) => fields)).toEqual([
    { username: anyAgent, address: "127.0.0.1" },
    { username: "k".repeat(16), address: "127.0.0.1" },
    { token_key: "k".repeat(16), address: "127.0.0.1" },
  ]);
  expect(logOf(node)).not.toMatch(/s{32}|wrong-word/);
});

test("a target that holds a password or a secret reaches the log without it", async () => {
  await using node = await testNode({
    logging,
    env: { NODE_SERVER_SUPER_TOKEN: "container:hunter2-hunter2-hunter2" },
  });
  const token = "container:hunter2-hunter2-hunter2";
  for (const target_token of ["anna|hunter2-password", token, `${"k".repeat(16)}:hunter2`])
    await node.refused("token_delete", { token, target_token });
  const log = logOf(node);
  expect(log).toContain("target_token=anna|…");
  expect(log).toContain("target_token=container:…");
  expect(log).not.toContain("hunter2");
});
