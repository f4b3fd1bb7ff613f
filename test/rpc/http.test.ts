import { expect } from "bun:test";
import { z } from "zod";
import { anyone } from "../../src/auth/need.ts";
import { declareOver } from "../../src/rpc/method.ts";
import type { Services } from "../../src/services.ts";
import { postHead, Wire } from "../support/hostile.ts";
import { testNode, type WireReply } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";

const sharedNode = sharedNodes();

const { method } = declareOver<Services>();

const hello = '{"jsonrpc":"2.0","method":"node-server_hello","id":1}';
const helloAnswer = '{"jsonrpc":"2.0","result":"Node Server Is Running!","id":1}';

test("every JSON-RPC answer is a 200 with JSON, errors included", async () => {
  await using node = await sharedNode();
  const bodies = [
    hello,
    `[${hello}]`,
    "{",
    "[]",
    "",
    '{"jsonrpc":"2.0","method":"nobody","id":1}',
    '{"jsonrpc":"2.0","method":"token_get","id":1}',
    '{"jsonrpc":"2.0","method":"token_get","params":["no:body"],"id":1}',
  ];
  for (const body of bodies) {
    const response = await node.post(body);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    await response.json();
  }
});

test("where there is nothing to answer the status is 204 and the body is empty", async () => {
  await using node = await sharedNode();
  const notification = '{"jsonrpc":"2.0","method":"node-server_hello"}';
  for (const body of [notification, `[${notification},${notification}]`]) {
    const response = await node.post(body);
    expect(response.status).toBe(204);
    expect(await response.text()).toBe("");
  }
});

test("a content type that is not JSON is refused with 415, whatever else it looks like", async () => {
  await using node = await sharedNode();
  const taken = [
    "application/json",
    "application/json-rpc",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    "APPLICATION/JSON",
    "Application/Json-Rpc ; a=b",
  ];
  for (const type of taken) {
    const response = await node.post(hello, { "content-type": type });
    expect([type, response.status, await response.text()]).toEqual([type, 200, helloAnswer]);
  }
  const refused = [
    "text/plain",
    "application/jsonp",
    "application/json-seq",
    "application/vnd.api+json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=application/json",
    "text/plain; application/json",
  ];
  for (const type of refused) {
    const response = await node.post(hello, { "content-type": type });
    expect([type, response.status]).toEqual([type, 415]);
    expect(((await response.json()) as WireReply).error?.code).toBe(-32600);
  }
  using wire = await Wire.open(node.url);
  wire.write(`${postHead(`Content-Length: ${hello.length}`)}${hello}`);
  await wire.hears(/^HTTP\/1.1 415 /);
});

test("a method other than POST is refused with 405 and told what is allowed", async () => {
  await using node = await sharedNode();
  for (const verb of ["GET", "HEAD", "PUT", "DELETE", "PATCH", "PROPFIND"]) {
    const response = await fetch(`${node.url}/jsonrpc`, { method: verb });
    expect([verb, response.status]).toEqual([verb, 405]);
    expect(response.headers.get("allow")?.split(", ").toSorted()).toEqual(["OPTIONS", "POST"]);
  }
});

test("a page of any origin may read every answer of the route", async () => {
  await using node = await testNode({ top: "max_request_body_size = 65536\njsonrpc_max_connections = 1" });
  const address = `${node.url}/jsonrpc`;
  const origin = { origin: "https://dashboard.example" };
  const asked: Record<string, () => Promise<Response>> = {
    "200": () => node.post(hello, origin),
    "200 with an error": () => node.post("{", origin),
    "204": () => node.post('{"jsonrpc":"2.0","method":"node-server_hello"}', origin),
    "204 for a preflight": () => fetch(address, { method: "OPTIONS", headers: origin }),
    "400": () => fetch(address, { headers: { ...origin, upgrade: "websocket", connection: "upgrade" } }),
    "405": () => fetch(address, { method: "PUT", headers: origin }),
    "413": () => node.post("x".repeat(65_537), origin),
    "415": () => node.post(hello, { ...origin, "content-type": "text/plain" }),
  };
  const seen: Record<string, [number, string | null]> = {};
  for (const [name, ask] of Object.entries(asked)) {
    const { status, headers } = await ask();
    seen[name] = [status, headers.get("access-control-allow-origin")];
  }
  await using _full = await node.socket();
  const busy = await node.post(hello, origin);
  seen["429"] = [busy.status, busy.headers.get("access-control-allow-origin")];
  const expected = [...Object.keys(asked), "429"].map((name) => [name, [Number.parseInt(name, 10), "*"]]);
  expect(seen).toEqual(Object.fromEntries(expected));
});

test("a preflight lets a page POST JSON from anywhere", async () => {
  await using node = await sharedNode();
  const response = await fetch(`${node.url}/jsonrpc`, {
    method: "OPTIONS",
    headers: {
      origin: "https://dashboard.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type, authorization",
    },
  });
  expect(response.status).toBe(204);
  const listed = (name: string) => response.headers.get(name)?.toLowerCase().split(/, */) ?? [];
  expect(listed("access-control-allow-methods")).toContain("post");
  // The wildcard does not cover `authorization`, and browsers of some years ago do not know it.
  expect(listed("access-control-allow-headers")).toEqual(
    expect.arrayContaining(["content-type", "authorization"]),
  );
  expect(Number(response.headers.get("access-control-max-age"))).toBeGreaterThan(0);
});

test("a param that is missing or of the wrong type is named", async () => {
  await using node = await sharedNode();
  const field = async (method: string, params?: unknown) => {
    const { code, data } = await node.refused(method, params);
    expect(code).toBe(-32602);
    return data.field;
  };
  expect(await field("token_get")).toBe("token");
  expect(await field("token_get", {})).toBe("token");
  expect(await field("token_get", [])).toBe("token");
  expect(await field("token_get", { token: 7 })).toBe("token");
  expect(await field("token_get", ["a:b", 7])).toBe("supertoken");
  expect(await field("token_change_password", { token: "a:b", target_token: "x" })).toBe("new_password");
  expect(await field("token_create", ["a:b", {}])).toBe("token_creation.token_limit");
  expect(await field("token_create", ["a:b", { token_limit: [{ scopes: ["global"] }] }])).toBe(
    "token_creation.token_limit.0.permissions",
  );
  // What JavaScript objects inherit is not what the client sent.
  const proto = JSON.parse('{"__proto__": {"token": "a:b"}, "constructor": {"token": "a:b"}}') as unknown;
  expect(await field("token_get", proto)).toBe("token");
});

test("members and positions that a method does not know are ignored", async () => {
  await using node = await sharedNode();
  const token = node.superToken;
  const plain = await node.call("token_get", { token });
  const odd = JSON.parse('{"__proto__": 1, "toString": 2, "constructor": {}, "": [], "x": null}') as object;
  expect(await node.call("token_get", { ...odd, token })).toEqual(plain);
  expect(await node.call("token_get", [token, null, 3, { four: 4 }])).toEqual(plain);
  expect(await node.call("node-server_hello", { any: "thing" })).toBe("Node Server Is Running!");
  const extra = await node.post(`{"jsonrpc":"2.0","method":"node-server_hello","id":1,"extra":{"a":1}}`);
  expect(await extra.text()).toBe(helloAnswer);
});

const failing = (doc: string, run: () => unknown) =>
  method({ doc, effect: "reads", need: anyone, params: {}, result: z.unknown(), run });

const buggy = {
  test_bug: failing("Throws what nobody expects.", () => {
    throw new TypeError("the password is hunter2");
  }),
  test_oddity: failing("Throws what is no error at all.", () => {
    throw "hunter2 again";
  }),
  test_bigint: failing("Answers what JSON cannot hold.", () => ({ hunter2: 10n })),
};

test("a bug shows its caller nothing but a reference, under which the log tells everything", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "error"', methods: buggy });
  await using socket = await node.socket();
  for (const name of Object.keys(buggy)) {
    for (const reply of [await node.send(name), await socket.call(name)]) {
      const reference = String(reply.error?.data.reference);
      expect(reply.error).toEqual({
        code: -32603,
        message: `Internal error: the server's log has the details under reference ${reference}`,
        data: { kind: "Internal", reference, detail: expect.any(String) },
      });
      const entry = node.node.ring.entries().find(({ fields }) => fields.reference === reference);
      expect(entry).toMatchObject({ level: "ERROR", target: "rpc" });
      if (name === "test_bug") expect(entry?.fields.stack).toMatch(/http\.test\.ts/);
      if (name !== "test_bigint") expect(entry?.message).toContain("hunter2");
    }
  }
});

test("the log tells which method had the bug", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "error"', methods: buggy });
  for (const name of Object.keys(buggy)) await node.refused(name);
  const spans = node.node.ring.entries().map((entry) => entry.spans.map((span) => span.name));
  expect(spans).toEqual([["test::bug"], ["test::oddity"], ["test::bigint"]]);
});
