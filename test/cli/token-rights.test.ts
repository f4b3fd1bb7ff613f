import { expect, test } from "bun:test";
import { agoText } from "../../src/cli/terminal/quantities.ts";
import { permissionsText } from "../../src/cli/tokens/permissions.ts";
import { errorOf, loggedIn } from "../support/cli.ts";
import { databaseKinds } from "../support/node.ts";
import { story } from "../support/process.ts";
import { chosenFor } from "../support/tier.ts";

for (const kind of chosenFor("rights", databaseKinds))
  story(`a token is created for one job with a name, and lists show it and its use (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { node, user } = scene;
    const made = await user.run(["tokens", "create", "--node", "read_logs, metrics", "--name", "log reader"]);
    expect([made.code, made.stderr]).toEqual([0, "save it; it is not shown again\n"]);
    const token = made.stdout.trim();
    const [key = ""] = token.split(":");
    const row = async () =>
      (await user.does(["tokens"]))
        .split("\n")
        .map((line) => line.split("\t"))
        .find((cells) => cells[0] === key);
    const created = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const cells = [key, "-", "never", "read logs, read metrics", "-", "log reader", created];
    expect(await row()).toEqual([...cells, "-"]);
    await user.does(["logs"], { env: { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: token } });
    expect(await row()).toEqual([...cells, created]);
    const named = ["tokens", "create", "--node", "metrics", "--name", "two\nlines", "--json"];
    const refused = await user.run(named);
    expect([refused.code, errorOf(refused)]).toMatchObject([1, { field: "token_creation.name" }]);
    const sql = await user.run(["tokens", "create", "--node", "exec_sql"]);
    expect(sql.stderr).toContain("exec_sql means full trust");
  });

for (const kind of chosenFor("rights 2", databaseKinds))
  story(`login and status say what the token may do, as text and as JSON (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { node, user } = scene;
    const limits = [
      {
        scopes: [{ static_bucket: "site" }],
        permissions: [{ static_bucket_file: "read" }, { static_bucket_file: "list" }],
      },
      { scopes: ["global"], permissions: [{ node: "read_logs" }] },
    ];
    const timestamp_to = Date.UTC(2999, 0, 2, 3, 4);
    const token = await node.newToken(limits, { name: "reader", timestamp_to });
    const may = "read and list files in bucket site; read logs";
    const login = await user.run(["login", node.url, "--name", "reader", "--json"], { stdin: token });
    expect(login.code).toBe(0);
    expect(login.stderr).toContain(`\ncan: ${may}; expires 2999-01-02 03:04 UTC\n`);
    const state = {
      super: false,
      token: {
        key: token.split(":")[0],
        username: null,
        name: "reader",
        ends: timestamp_to,
        created_at: expect.any(Number),
        last_used_at: expect.any(Number),
        limits,
      },
    };
    expect(JSON.parse(login.stdout)).toEqual({ name: "reader", url: node.url, ...state });
    const status = await user.does(["status", "-s", "reader"]);
    expect(status).toMatch(/^token +\w{16}, reader$/m);
    expect(status).toMatch(new RegExp(`^can +${may}$`, "m"));
    expect(status).toMatch(/^expires +2999-01-02 03:04 UTC$/m);
    expect(JSON.parse(await user.does(["status", "-s", "reader", "--json"]))).toMatchObject(state);
    expect(await user.does(["status", "-s", "here"])).toMatch(/^can +everything \(Super Token\)$/m);
    const again = await user.run(["login", node.url, "--name", "here"], { stdin: node.superToken });
    expect([again.stdout, again.stderr]).toEqual(["", expect.stringMatching(/^can: everything/m)]);
  });

test("rights are put into words that name what, where and nothing that is not granted", () => {
  const limit = (scopes: unknown[], ...permissions: unknown[]) => ({ scopes, permissions });
  const cases: [unknown, string][] = [
    [[], "nothing"],
    ["broken", "nothing"],
    [[limit([], { node: "exec_sql" }), limit(["global"])], "nothing"],
    [[limit(["global"], { node: "exec_sql" }, { node: "read_storage" })], "run SQL, read table sizes"],
    [[limit(["global"], { static_bucket_file: "read" })], "read files everywhere"],
    [[limit([{ static_bucket: "*" }], { static_bucket: "write" })], "change bucket records in every bucket"],
    [
      [limit([{ static_bucket: "a" }, { global_static_bucket: "b-*" }], { static_bucket_file: "write" })],
      "write files in bucket a and in bucket b-*",
    ],
    [[limit([{ static_bucket: "a" }], { node: "read_logs" })], "read logs in bucket a"],
    [
      [limit(["global"], { token: "create" }), limit([{ db: "x" }], { db: "exec_sql" })],
      "create tokens; run SQL in databases in database x",
    ],
    [
      [limit([{ kv_namespace: "n" }], { kv: "read" }, { task: { run: "x-*" } })],
      "kv.read, task.run (x-*) in KV namespace n",
    ],
    [[limit(["global"], { node: "invented" }, { node: "metrics" })], "read metrics"],
    [
      [limit(["global"], { node: "list_all_agent_uuid" }, { monitoring_uuid: "list" })],
      "list agents everywhere",
    ],
  ];
  for (const [token_limit, text] of cases) expect(permissionsText({ token_limit })).toBe(text);
});

test("a time ago is told to the minute, hour or day", () => {
  const minute = 60_000;
  const cases: [number, string][] = [
    [-5 * minute, "just now"],
    [minute - 1, "just now"],
    [minute, "1 min ago"],
    [59 * minute, "59 min ago"],
    [60 * minute, "1 h ago"],
    [47 * 60 * minute, "47 h ago"],
    [48 * 60 * minute, "2 days ago"],
  ];
  for (const [passed, text] of cases) expect(agoText(1e12, 1e12 + passed)).toBe(text);
});
