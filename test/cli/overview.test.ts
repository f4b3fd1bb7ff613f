import { expect } from "bun:test";
import { errorOf } from "../support/cli.ts";
import { story } from "../support/process.ts";
import { deploySite, fill } from "./deploy-site.ts";

story("buckets are made, shown, changed, listed and forgotten from the shell", async () => {
  await using site = await deploySite();
  const { run } = site;
  const made = await run("buckets", "create", "docs", "--cors", "--json");
  expect([made.code, JSON.parse(made.stdout)]).toMatchObject([
    0,
    { name: "docs", path: "docs", cors: true, is_http_root: false, enable: true },
  ]);
  expect(made.stderr).toContain(
    `anyone can read the bucket's files at ${site.node.url}/node/static/docs/…, without a token`,
  );
  expect((await run("buckets", "create", "--help")).stdout).toContain("anyone can read the bucket's files");
  expect((await run("buckets", "update", "--help")).stdout).toContain("default: unchanged");
  expect((await run("buckets", "list")).stdout).toBe(
    "docs\tdocs\tno\tyes\tyes\tpublic\t-\tno\nsite\tsite\tno\tno\tyes\tpublic\t-\tno\n",
  );
  expect((await run("buckets")).stdout).toStartWith("docs\t");
  // The kind of the RPC error is of no use to people.
  expect(await run("buckets", "create", "docs")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: "node-server: a bucket docs exists already\n",
  });
  const changed = await run("buckets", "update", "docs", "--no-cors", "--root", "--no-enable");
  expect([changed.code, changed.stdout]).toEqual([0, "docs\tdocs\tyes\tno\tno\tpublic\t-\tno\n"]);
  expect((await run("buckets", "update", "docs")).code).toBe(2);
  expect((await run("buckets", "show", "docs")).stdout).toBe("docs\tdocs\tyes\tno\tno\tpublic\t-\tno\n");
  expect(JSON.parse((await run("buckets", "show", "docs", "--json")).stdout)).toMatchObject({
    name: "docs",
    public: true,
    hosts: [],
    clean_urls: false,
  });
  const access = ["--private", "--host", "docs.example.org", "--host", "Docs.example.net", "--clean-urls"];
  const hidden = await run("buckets", "update", "docs", "--enable", ...access);
  expect(hidden.stdout).toBe("docs\tdocs\tyes\tno\tyes\tprivate\tdocs.example.org docs.example.net\tyes\n");
  expect(hidden.stderr).toContain("needs a token with StaticBucketFile::Read, or a signed link");
  expect((await run("buckets", "show", "docs")).stderr).toContain("http://docs.example.org:");
  const shown = await run("buckets", "update", "docs", "--public", "--no-hosts", "--no-clean-urls");
  expect(shown.stdout).toBe("docs\tdocs\tyes\tno\tyes\tpublic\t-\tno\n");
  expect(shown.stderr).toContain("anyone can read the bucket's files");
  expect((await run("buckets", "update", "docs", "--public", "--private")).code).toBe(2);
  // Nobody is there to confirm.
  const asked = await run("buckets", "delete", "docs");
  expect([asked.code, asked.stdout]).toEqual([1, ""]);
  expect((await run("buckets", "delete", "docs", "--yes")).code).toBe(0);
  const missing = await run("buckets", "show", "docs", "--json");
  expect([missing.code, errorOf(missing).kind]).toEqual([1, "NotFound"]);
});

story(
  "a token made for WebDAV can push; its secret is on stdout once, and rolling or deleting ends it",
  async () => {
    await using site = await deploySite();
    const { run, start, local } = site;
    await fill(local, { "index.html": "x" });
    const made = await run("tokens", "create", "--webdav", "site", "--username", "ci", "--expires", "30d");
    expect(made.code).toBe(0);
    expect(made.stdout).toMatch(/^[A-Za-z0-9]+:[A-Za-z0-9]+\n$/);
    const token = made.stdout.trim();
    const [key = "", secret = ""] = token.split(":");
    expect(made.stderr).not.toContain(secret);
    expect(made.stderr).not.toContain("no bucket");
    const push = (credentials: string) =>
      start({ NODE_SERVER_TOKEN: credentials }, "push", local, "site").exited;
    expect((await push(token)).code).toBe(0);
    const listed = await run("tokens", "list");
    expect(listed.stdout).toContain(`${key}\tci\t20`);
    expect(listed.stdout).toContain("\tread, write, delete and list files in bucket site\t");
    expect(listed.stdout).not.toContain(secret);
    expect(listed.stdout).toMatch(
      /^\S+\troot\tnever\teverything \(Super Token\)\t-\t-\t[-\d]+T[\d:]+Z\t[-\d]+T[\d:]+Z$/m,
    );
    const rolled = await run("tokens", "roll", key, "--yes", "--json");
    const renewed = JSON.parse(rolled.stdout) as { key: string; secret: string };
    expect(renewed.key).toBe(key);
    expect((await push(token)).code).toBe(3);
    expect((await push(`${renewed.key}:${renewed.secret}`)).code).toBe(0);
    expect(JSON.parse((await run("tokens", "reset", "ci", "-y", "--json")).stdout)).toEqual({
      token_key: key,
      sessions_ended: 0,
      totp_removed: false,
    });
    expect((await push(`${renewed.key}:${renewed.secret}`)).code).toBe(0);
    expect((await run("tokens", "delete", "ci", "-y")).code).toBe(0);
    expect((await push(`${renewed.key}:${renewed.secret}`)).code).toBe(3);
  },
);

story("a token may do what --allow names and nothing else; nonsense is wrong usage", async () => {
  await using site = await deploySite();
  const { run, node } = site;
  const made = await run(
    "tokens",
    "create",
    "--bucket",
    "site",
    "--bucket",
    "docs",
    "--allow",
    "read,list",
    "--json",
  );
  expect(made.stderr).toContain("the server has no bucket docs");
  const { key, secret } = JSON.parse(made.stdout) as { key: string; secret: string };
  expect(await node.call("token_get", { token: `${key}:${secret}` })).toMatchObject({
    timestamp_to: null,
    token_limit: [
      {
        scopes: [{ static_bucket: "site" }, { static_bucket: "docs" }],
        permissions: [{ static_bucket_file: "read" }, { static_bucket_file: "list" }],
      },
    ],
  });
  const wrong = [
    ["create"],
    ["create", "--bucket", "site", "--allow", "everything"],
    ["create", "--bucket", "site", "--expires", "soon"],
    ["create", "--node", "read_logs,everything"],
    ["create", "--bucket", "site", "--password"],
    ["destroy", "x"],
  ];
  for (const args of wrong) {
    const { code, stdout } = await run("tokens", ...args);
    expect([args, code, stdout]).toEqual([args, 2, ""]);
  }
});

story("the list names the token that made another, and deleting the maker says what it leaves", async () => {
  await using site = await deploySite();
  const { run, node } = site;
  const may = [{ scopes: ["global"], permissions: [{ token: "create" }] }];
  const maker = await node.newToken(may, { username: "maker" });
  const [key = ""] = maker.split(":");
  await node.call("token_create", [maker, { token_limit: [], username: "made" }]);
  expect((await run("tokens", "list")).stdout).toMatch(new RegExp(`^\\S+\\tmade\\t.*\\t${key}\\t`, "m"));
  const ended = await run("tokens", "delete", "maker", "-y");
  expect([ended.code, ended.stdout]).toEqual([0, ""]);
  expect(ended.stderr).toContain("tokens that it created still work: 1");
  expect((await run("tokens", "delete", "made", "-y")).stderr).not.toContain("still work");
});

story("storage lists the tables, the largest first; status tells whose token it is", async () => {
  await using site = await deploySite();
  const { run, start, node } = site;
  const { stdout } = await run("storage");
  const rows = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  expect(rows.map(([name]) => name)).toContain("token");
  const sizes = rows.map(([, bytes]) => Number(bytes));
  expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
  const { total } = JSON.parse((await run("storage", "--json")).stdout) as { total: number };
  expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBe(total);

  const own = await run("status", "--json");
  expect(own.code).toBe(0);
  expect(JSON.parse(own.stdout)).toMatchObject({
    server: node.url,
    reachable: true,
    uuid: await node.call("node-server_uuid"),
    database: "sqlite",
    super: true,
    token: { username: "root" },
    buckets: 1,
    uptime_ms: expect.any(Number),
  });
  expect((await run("status")).stdout).toMatch(/^up +\d+ s$/m);
  const small = await node.newToken([], { username: "alice" });
  const others = await start({ NODE_SERVER_TOKEN: small }, "status").exited;
  expect([others.code, others.stdout]).toEqual([0, expect.stringContaining("alice")]);
  expect(others.stdout).not.toContain("Super Token");
  expect(others.stdout).toContain("not for this token");
  expect((await start({ NODE_SERVER_TOKEN: small }, "storage").exited).code).toBe(3);
  expect((await start({ NODE_SERVER_TOKEN: "no:body" }, "status").exited).code).toBe(3);
  expect((await start({ NODE_SERVER_URL: "http://127.0.0.1:1" }, "status").exited).code).toBe(4);
});

story("on a terminal storage draws bars and lists have a head", async () => {
  await using site = await deploySite();
  const { home, env } = site;
  const show = (...args: string[]) => home.does(args, { env, isTTY: true });
  expect(await show("storage")).toMatch(/^TABLE +SIZE +SHARE\n\w+ +[\d.]+ kB +[\d.]+ % +█{30}\n/);
  expect(await show("buckets")).toMatch(
    /^NAME +PATH +ROOT +CORS +ENABLED +ACCESS +HOSTS +CLEAN URLS\nsite +site +no +no +yes +public +- +no\n/,
  );
});

story("with --quiet a command prints its result and its failure, and nothing else", async () => {
  await using site = await deploySite();
  const { run, local, node } = site;
  await fill(local, { "index.html": "x" });
  const address = `${node.url}/node/static/site/\n`;
  for (const args of [
    ["-q", "push", local, "site"],
    ["deploy", local, "site", "--quiet"],
    ["push", "-q", local, "site"],
  ])
    expect(await run(...args)).toMatchObject({ code: 0, stdout: address, stderr: "" });
  const missing = await run("-q", "cat", "site/none");
  expect([missing.code, missing.stdout, missing.stderr]).toEqual([
    1,
    "",
    "node-server: there is no site/none\n",
  ]);
});

story(
  "a token that lacks one of the things a command needs learns all of them before anything is done",
  async () => {
    await using site = await deploySite();
    const { run, start, local, node } = site;
    await fill(local, { "index.html": "x" });
    await site.push();
    const limits = [
      {
        scopes: [{ static_bucket: "*" }],
        permissions: [
          { static_bucket: "read" },
          { static_bucket: "write" },
          { static_bucket_file: "list" },
          { static_bucket_file: "read" },
        ],
      },
    ];
    const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: await node.newToken(limits) };
    const deployed = await start(env, "deploy", local, "site").exited;
    expect([deployed.code, deployed.stderr]).toEqual([
      3,
      expect.stringContaining(
        "this command needs a token that can read, write, delete and list files in bucket",
      ),
    ]);
    expect((await start(env, "buckets", "clone", "site", "copy").exited).code).toBe(3);
    expect((await run("buckets", "show", "copy")).code).toBe(1);
    expect((await run("help", "deploy")).stdout).toContain("Needs a token that can read, write");
  },
);
