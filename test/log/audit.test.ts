import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { methods } from "../../src/methods/index.ts";
import { orderingCertificates } from "../support/certs.ts";
import { eachDatabase, type TestNode, tempFolder, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

const logging = 'memory_log_filter = "info"';
const readSite = [{ scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] }];

type Fields = Record<string, unknown>;

/** The fields of the audit entries that `act` leaves, in the memory of the log and in that of the audit alike. */
async function auditOf(node: TestNode, act: () => Promise<unknown>): Promise<Fields[]> {
  const entries = () => node.node.ring.entries().filter(({ target }) => target === "audit");
  const listed = async () => ((await node.call("audit_list", [node.superToken])) as unknown[]).length;
  const [before, listedBefore] = [entries().length, await listed()];
  await act();
  const made = entries().slice(before);
  expect(await listed()).toBe(listedBefore + made.length);
  for (const { level, message } of made) expect({ level, message }).toEqual({ level: "INFO", message });
  return made.map(({ fields }) => fields);
}

/** The calls that change something, in an order in which each succeeds, with the entry that each leaves. */
function changes(
  node: TestNode,
): ReadonlyArray<[method: string, params: Fields, event: string, what: Fields]> {
  const token = node.superToken;
  const [site, file] = [{ bucket: "site" }, { bucket: "site", path: "a/ü.txt" }];
  return [
    [
      "static-bucket_create",
      { token, name: "site", cors: true },
      "bucket.created",
      { ...site, settings: { cors: true } },
    ],
    [
      "static-bucket_update",
      { token, name: "site", enable: false },
      "bucket.updated",
      { ...site, settings: { enable: false } },
    ],
    [
      "static-bucket-file_upload",
      { token, name: "site", path: "a/ü.txt", body: "hello" },
      "file.written",
      { ...file, bytes: 5 },
    ],
    [
      "static-bucket-file_link",
      { token, name: "site", path: "a/ü.txt" },
      "link.made",
      { ...file, kind: "download", link: expect.any(String), expires: expect.any(Number) },
    ],
    ["static-bucket_unlink", { token, name: "site" }, "link.revoked", site],
    ["node-server_roll_link_secret", { token }, "link.secret_rolled", {}],
    [
      "static-bucket_lease",
      { token, name: "site", what: "push", lease: "mine" },
      "transfer.begun",
      { ...site, what: "push" },
    ],
    ["static-bucket_release", { token, name: "site", lease: "mine" }, "transfer.ended", site],
    [
      "static-bucket-file_rename",
      { token, name: "site", from: "a/ü.txt", to: "b.txt" },
      "file.moved",
      { ...file, to: "b.txt" },
    ],
    [
      "static-bucket-file_delete",
      { token, name: "site", path: "b.txt" },
      "file.deleted",
      { ...site, path: "b.txt" },
    ],
    [
      "static-bucket-file_restore",
      { token, name: "site", path: "b.txt", version: 3, to: "c.txt" },
      "file.restored",
      { ...site, path: "c.txt", from: "b.txt", version: 3 },
    ],
    [
      "static-bucket-file_copy_many",
      { token, name: "site", copies: [{ from: "c.txt", to: "d.txt" }] },
      "file.copied",
      { ...site, path: "c.txt", to: "d.txt" },
    ],
    [
      "static-bucket-file_move_many",
      { token, name: "site", moves: [{ from: "d.txt", to: "e.txt" }] },
      "file.moved",
      { ...site, path: "d.txt", to: "e.txt" },
    ],
    [
      "static-bucket-file_delete_many",
      { token, name: "site", paths: ["c.txt", "e.txt"] },
      "file.deleted",
      { ...site, path: "c.txt", count: 2, folder: "", paths: ["c.txt", "e.txt"] },
    ],
    [
      "static-bucket-file_restore_many",
      { token, name: "site", versions: [{ version: 8, path: "e.txt" }] },
      "file.restored",
      { ...site, path: "e.txt", version: 8 },
    ],
    ["static-bucket-file_purge", { token, name: "site" }, "file.purged", { ...site, versions: 3 }],
    ["static-bucket_delete", { token, name: "site" }, "bucket.deleted", site],
    [
      "node-server_exec_sql",
      { token, sql: "UPDATE token SET version = 1 WHERE username = 'value-of-sql'" },
      "sql.executed",
      { statements: ["UPDATE"], outcome: "succeeded" },
    ],
  ];
}

/** The calls about deploys; returns their names. */
async function deployChanges(node: TestNode, who: Fields): Promise<string[]> {
  const own = { token: node.superToken, name: "shop" };
  await node.call("static-bucket_create", own);
  await node.call("static-bucket-file_upload", { ...own, path: "index.html", body: "before" });
  let deploy = "";
  const begin = async () => {
    ({ deploy } = (await node.call("static-bucket_deploy_begin", own)) as { deploy: string });
  };
  const former = expect.any(String);
  const acts: ReadonlyArray<[method: string, params: Fields, event: string, what: Fields]> = [
    ["add", { files: [] }, "deploy.filled", { taken: 0 }],
    ["check", {}, "deploy.closed", {}],
    ["preview", {}, "deploy.shown", { expires: expect.any(Number) }],
    ["publish", {}, "deploy.published", { replaced: former }],
  ];
  const begun = await auditOf(node, begin);
  expect(begun).toEqual([{ event: "deploy.begun", ...who, bucket: "shop", deploy }]);
  for (const [method, params, event, what] of acts) {
    const act = () => node.call(`static-bucket_deploy_${method}`, { ...own, deploy, ...params });
    expect(await auditOf(node, act)).toEqual([{ event, ...who, bucket: "shop", deploy, ...what }]);
  }
  const back = await auditOf(node, () => node.call("static-bucket_deploy_rollback", own));
  expect(back).toEqual([
    { event: "deploy.rolled_back", ...who, bucket: "shop", deploy: former, replaced: deploy },
  ]);
  const gone = await auditOf(node, () => node.call("static-bucket_deploy_delete", { ...own, deploy }));
  expect(gone).toEqual([{ event: "deploy.deleted", ...who, bucket: "shop", deploy }]);
  return ["begin", ...acts.map(([method]) => method), "rollback", "delete"].map(
    (method) => `static-bucket_deploy_${method}`,
  );
}

eachDatabase(
  "every call that changes something leaves one audit entry: who, from where, on what",
  async (database) => {
    await using node = await testNode({ logging, store: `objects over ${database}` });
    const who = { token_key: node.superToken.split(":")[0], address: "127.0.0.1" };
    const called: string[] = [];
    for (const [method, params, event, what] of changes(node)) {
      const entries = await auditOf(node, () => node.call(method, params));
      expect([method, entries]).toEqual([method, [{ event, ...who, ...what }]]);
      called.push(method);
    }
    called.push(...(await deployChanges(node, who)));
    const admin = { token: node.superToken, target_token: "alice" };
    let key = "";
    const tokenActs: ReadonlyArray<[method: string, params: () => Fields, event: string]> = [
      [
        "token_create",
        () => ({
          father_token: node.superToken,
          token_creation: { token_limit: readSite, username: "alice", password: "first pass" },
        }),
        "token.created",
      ],
      ["token_edit", () => ({ ...admin, limit: [] }), "token.edited"],
      ["token_change_password", () => ({ ...admin, new_password: "second pass" }), "token.password_changed"],
      ["token_roll_token_secret", () => admin, "token.secret_rolled"],
      ["token_delete", () => admin, "token.deleted"],
    ];
    for (const [method, params, event] of tokenActs) {
      const entries = await auditOf(node, async () => {
        const result = (await node.call(method, params())) as { key?: string };
        key ||= result.key ?? "";
      });
      expect([method, entries]).toEqual([method, [{ event, ...who, target_key: key }]]);
      called.push(method);
    }
    const config_string = await readFile(node.configPath, "utf8");
    const edited = await auditOf(node, () =>
      node.call("node-server_edit_config", { token: node.superToken, config_string }),
    );
    expect(edited).toEqual([{ event: "config.edited", ...who }]);
    const name = "shop.example.com";
    await using ordering = await testNode({ logging, ...orderingCertificates });
    const asked = await auditOf(ordering, () =>
      ordering.call("node-server_renew_certificate", { token: ordering.superToken, name }),
    );
    expect(asked).toEqual([
      { event: "certificate.requested", ...who, token_key: ordering.superToken.split(":")[0], name },
    ]);
    called.push("node-server_renew_certificate");
    // Sessions, the update and cursors have stories of their own; subscriptions and a test of a webhook are nothing that the server keeps.
    called.push(
      "session_create",
      "session_end",
      "session_change_password",
      "session_reset",
      "session_totp_begin",
      "session_totp_confirm",
      "session_totp_remove",
      "sql_open",
      "sql_close",
      "node-server_edit_config",
      "node-server_self_update",
      "node-server_unsubscribe_stream_log",
      "log_unsubscribe_stream",
      "static-bucket_unwatch",
      "hooks_test",
    );
    const changing = Object.entries(methods).filter(([, { effect }]) => effect !== "reads");
    expect(called.sort()).toEqual(changing.map(([name]) => name).sort());
  },
);

test("the entry names a user by the name that signed in", async () => {
  await using node = await testNode({ logging });
  const entries = await auditOf(node, () =>
    node.call("static-bucket_create", [`root|${node.rootPassword}`, "site"]),
  );
  expect(entries).toEqual([
    { event: "bucket.created", username: "root", address: "127.0.0.1", bucket: "site", settings: {} },
  ]);
});

test("every WebDAV request that changes something leaves one entry, and reading leaves none", async () => {
  await using node = await testNode({ logging });
  const { dav, base } = await webdavSite(node);
  const who = { token_key: node.superToken.split(":")[0], address: "127.0.0.1", bucket: "site" };
  const properties =
    '<propertyupdate xmlns="DAV:"><set><prop><a xmlns="urn:x">secret value</a></prop></set></propertyupdate>';
  const lock =
    '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
  const acts: ReadonlyArray<[request: Parameters<typeof dav>, status: number, entries: Fields[]]> = [
    [["MKCOL", "/f"], 201, [{ event: "folder.created", path: "f" }]],
    [["PUT", "/f/a.txt", {}, "hello"], 201, [{ event: "file.written", path: "f/a.txt", bytes: 5 }]],
    [["PUT", "/f/a.txt", {}, "longer"], 204, [{ event: "file.written", path: "f/a.txt", bytes: 6 }]],
    [["PROPPATCH", "/f/a.txt", {}, properties], 207, [{ event: "file.described", path: "f/a.txt" }]],
    [["COPY", "/f", { destination: `${base}/g` }], 201, [{ event: "file.copied", path: "f", to: "g" }]],
    [["MOVE", "/g", { destination: `${base}/h` }], 201, [{ event: "file.moved", path: "g", to: "h" }]],
    [["LOCK", "/new.txt", {}, lock], 201, [{ event: "file.written", path: "new.txt", bytes: 0 }]],
    [["DELETE", "/h"], 204, [{ event: "file.deleted", path: "h" }]],
    [["GET", "/f/a.txt"], 200, []],
    [["PROPFIND", "/", { depth: "1" }], 207, []],
    [["OPTIONS", "/"], 200, []],
    [["DELETE", "/h"], 404, []],
    [["PUT", "/missing/a.txt", {}, "x"], 409, []],
    [["MOVE", "/f", { destination: `${base}/f/below` }], 403, []],
  ];
  for (const [request, status, entries] of acts) {
    const made = await auditOf(node, async () => expect((await dav(...request)).status).toBe(status));
    expect([request[0], made]).toEqual([request[0], entries.map((entry) => ({ ...who, ...entry }))]);
  }
});

test("calls that read, fail or change nothing leave no entry", async () => {
  await using node = await testNode({ logging });
  const token = node.superToken;
  await node.call("static-bucket_create", { token, name: "site" });
  const entries = await auditOf(node, async () => {
    await node.call("node-server_hello");
    await node.call("static-bucket_list", { token });
    await node.call("node-server_exec_sql", { token, sql: "SELECT 'insert into x' AS a -- delete" });
    await node.call("static-bucket-file_delete", { token, name: "site", path: "missing.txt" });
    await node.refused("static-bucket_create", { token, name: "site" });
    await node.refused("token_delete", { token, target_token: "nobody" });
    await node.refused("static-bucket-file_upload", { token, name: "site", path: "../x", body: "" });
    await node.refused("node-server_exec_sql", { token, sql: "DELETE FROM token", params: "no" });
  });
  expect(entries).toEqual([]);
});

test("the entries hold no secret, no content and no value of SQL", async () => {
  await using node = await testNode({ logging });
  const token = node.superToken;
  const { secret } = (await node.call("token_create", [
    token,
    { token_limit: readSite, username: "alice", password: "first pass" },
  ])) as { secret: string };
  await node.call("token_change_password", { token, target_token: "alice", new_password: "second pass" });
  await node.call("static-bucket_create", { token, name: "site" });
  await node.call("static-bucket-file_upload", { token, name: "site", path: "a", body: "private content" });
  await node.call("node-server_exec_sql", { token, sql: "DELETE FROM kv WHERE key = 'private value'" });
  await node.refused("node-server_exec_sql", { token, sql: "INSERT INTO nothing VALUES ('private value')" });
  await node.refused("token_list_all_tokens", [`${token}x`]);
  const text = JSON.stringify(await node.call("audit_list", [token]));
  for (const hidden of [token, token.split(":")[1] ?? "", secret, "first pass", "second pass", "private"])
    expect(text).not.toContain(hidden);
});

test("the log stream and the JSON file carry audit entries", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "audit.log");
  const file = `json_log_file = ${JSON.stringify(path)}\njson_log_filter = "audit=info"`;
  await using node = await testNode({ logging: file });
  await using socket = await node.socket();
  await socket.call("node-server_stream_log", { token: node.superToken, log_filter: "audit" });
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  const event = { fields: { event: "bucket.created", bucket: "site" }, target: "audit" };
  expect(await socket.next()).toMatchObject({ params: { result: event } });
  const line = await until("the file has a line", async () => (await Bun.file(path).text()) || undefined);
  expect(JSON.parse(line)).toMatchObject(event);
});

test("audit_list is for those who may read logs, and shows the newest", async () => {
  await using node = await testNode();
  const global = (permission: unknown) => [{ scopes: ["global"], permissions: [permission] }];
  const reader = await node.newToken(global({ node: "read_logs" }));
  const other = await node.newToken(global({ node: "exec_sql" }));
  expect(await node.refused("audit_list", [other])).toMatchObject({
    code: 102,
    data: { permissions: [{ node: "read_logs" }], scope: "global" },
  });
  const [entry] = (await node.call("audit_list", { token: reader, limit: 1 })) as Array<{ fields: Fields }>;
  expect(entry?.fields).toMatchObject({ event: "token.created", target_key: other.split(":")[0] });
  expect(await node.refused("node-server_log", [reader])).toMatchObject({ code: 102 });
});
