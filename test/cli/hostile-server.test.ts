import { expect } from "bun:test";
import { User } from "../support/cli.ts";
import { story } from "../support/process.ts";

/** Sets the title of a terminal, colours it, and hides what follows. */
const escapes = "\x1b]0;owned\x07\x1b[31mred\x9b8m\u202e";
const control = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/;
/** Those of them that JSON text may have unescaped, and a terminal obeys. */
const controlInJson = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;

/** Answers every call with an error, or with the result of its method, and WebDAV with a page; all of it contains `escapes`. */
function hostileServer(results: Readonly<Record<string, unknown>> = {}) {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (request.method !== "POST") return new Response(`no ${escapes}`, { status: 500 });
      const { id, method } = (await request.json()) as { readonly id: unknown; readonly method: string };
      const answer =
        method in results
          ? { result: results[method] }
          : { error: { code: 999, message: `no ${escapes}`, data: { kind: escapes, reason: escapes } } };
      return Response.json({ jsonrpc: "2.0", ...answer, id });
    },
  });
}

story("an error of a hostile server cannot control the terminal", async () => {
  await using user = await User.open();
  using server = hostileServer();
  const env = { NODE_SERVER_URL: server.url.origin, NODE_SERVER_TOKEN: "a:b" };
  for (const args of [
    ["tokens"],
    ["nodes"],
    ["storage"],
    ["status"],
    ["links", "site"],
    ["deploys", "site"],
    ["link", "site/a.txt"],
    ["logs"],
    ["ls", "site"],
    ["call", "token_get"],
    ["sql", "SELECT 1"],
    ["buckets", "delete", "site", "--yes"],
  ]) {
    const { code, stdout, stderr } = await user.run(args, { env });
    expect([args, code === 0]).toEqual([args, false]);
    expect([args, control.exec(stdout + stderr)?.[0]]).toEqual([args, undefined]);
    if (args[0] === "tokens") expect(stderr).toContain("\\u{1b}]0;owned\\u{7}");
  }
});

story("a result of a hostile server cannot control the terminal", async () => {
  await using user = await User.open();
  using server = hostileServer({
    log_list: [
      {
        timestamp: escapes,
        level: escapes,
        target: escapes,
        message: escapes,
        spans: [],
        fields: {},
        seq: 1,
      },
    ],
    "static-bucket-file_link": { address: `/${escapes}`, expires: 1_794_700_000_000, id: escapes },
    "static-bucket_read": { hosts: [] },
    token_create: { key: escapes, secret: escapes },
  });
  const env = { NODE_SERVER_URL: server.url.origin, NODE_SERVER_TOKEN: "a:b" };
  for (const args of [["logs"], ["link", "site/a.txt"], ["tokens", "create", "--node", "read_logs"]]) {
    const { code, stdout, stderr } = await user.run(args, { env });
    expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
    expect([args, control.exec(stdout + stderr)?.[0]]).toEqual([args, undefined]);
    expect([args, stdout]).toEqual([args, expect.stringContaining("\\u{1b}")]);
    const inJson = await user.run([...args, "--json"], { env });
    expect([args, inJson.code, controlInJson.exec(inJson.stdout)?.[0]]).toEqual([args, 0, undefined]);
    expect([args, inJson.stdout]).toEqual([args, expect.stringContaining("\\u009b")]);
    expect(JSON.stringify(JSON.parse(inJson.stdout))).toContain(JSON.stringify(escapes).slice(1, -1));
  }
});

story("the health that a hostile server tells cannot control the terminal", async () => {
  await using user = await User.open();
  using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(`ok ${escapes}`) });
  const { code, stdout, stderr } = await user.run(["health", server.url.origin]);
  expect([code, control.exec(stdout + stderr)?.[0]]).toEqual([0, undefined]);
  expect(stdout).toContain("ok \\u{1b}]0;owned");
});
