import { expect } from "bun:test";
import { readFile } from "node:fs/promises";
import type { LogEntry } from "../../src/log/entry.ts";
import { loggedIn, User } from "../support/cli.ts";
import { databaseKinds } from "../support/node.ts";
import { newHome, story, wholeLines } from "../support/process.ts";
import { openRelay } from "../support/relay.ts";
import { chosenFor } from "../support/tier.ts";
import { until, within } from "../support/until.ts";

/** A server of the tests is silent otherwise. */
const kept = 'memory_log_filter = "info"\n';

/** The numbers of entries `n <number>`, in the order in which they were shown. */
function numbersIn(stdout: string): number[] {
  return [...stdout.matchAll(/"message":"n (\d+)"/g)].map(([, number]) => Number(number));
}

story("logs shows what the server keeps, by a filter, as lines or as JSON", async () => {
  await using scene = await loggedIn({ logging: kept });
  const { node, user } = scene;
  const log = node.node.hub.logger("server");
  log.info("first\u001b[31m");
  log.warn("second", { at: 2 });
  const lines = await user.does(["logs"]);
  expect(lines).toMatch(/^\S+ {2}INFO server: first\\u\{1b\}\[31m$/m);
  expect(lines).toMatch(/^\S+ {2}WARN server: second at=2$/m);
  const json = await user.does(["logs", "--json", "--filter", "server=warn"]);
  const entries = json
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as LogEntry);
  expect(entries.map(({ message }) => message)).toEqual(["second"]);
  const wrong = await user.run(["logs", "--filter", "server=loud"]);
  expect(wrong).toMatchObject({ code: 2, stdout: "" });
  expect(wrong.stderr).toContain("loud");
});

story("activity prints the audit trail by filters, as lines, JSON or CSV", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  await node.call("static-bucket_create", { token: node.superToken, name: "docs" });
  expect(await user.does(["activity", "-n", "1"])).toMatch(
    /^\S+ {2}INFO audit: bucket created .*bucket=docs/,
  );
  const json = await user.does(["activity", "--all", "--event", "bucket", "--json", "--since", "1h"]);
  const names = json.trimEnd().split("\n");
  expect(names.map((line) => JSON.parse(line).fields.bucket)).toEqual(["site", "docs"]);
  const csv = await user.does([
    "activity",
    "--bucket",
    "site",
    "--by",
    node.superToken.split(":")[0] ?? "",
    "--csv",
  ]);
  expect(csv.split("\r\n").map((line) => line.split(",").slice(2, 3))).toEqual([
    ["event"],
    ["bucket.created"],
    [],
  ]);
  expect((await user.run(["activity", "--csv", "--json"])).code).toBe(2);
});

story(
  "logs shows the last entries, or those of the last minutes, and warns of a target that nothing has",
  async () => {
    await using scene = await loggedIn({ logging: kept });
    const { node, user } = scene;
    const log = node.node.hub.logger("server");
    for (const n of [1, 2, 3]) log.info(`n ${n}`);
    const shown = async (...args: string[]) =>
      numbersIn(await user.does(["logs", "--json", "--filter", "server=info", ...args]));
    expect(await shown()).toEqual([1, 2, 3]);
    expect(await shown("-n", "2")).toEqual([2, 3]);
    expect(await shown("--since", "5m", "-n", "9")).toEqual([1, 2, 3]);
    const unknown = await user.run(["logs", "--filter", "nope"]);
    expect(unknown).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("`nope`") });
  },
);

for (const kind of chosenFor("logs", databaseKinds))
  story(`a token that may only read logs shows and follows them, until it is revoked (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind, logging: kept });
    const { node, user } = scene;
    const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "read_logs" }] }]);
    const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: token };
    node.node.hub.logger("task").info("n 1");
    expect(await user.does(["logs"], { env })).toContain("n 1");
    const follow = user.launch(["logs", "-f"], { env });
    await until("the kept entry is shown", () => follow.stdout.includes("n 1"));
    node.node.hub.logger("task").info("n 2");
    await until("the new entry is shown", () => follow.stdout.includes("n 2"));
    await node.call("token_edit", [node.superToken, token.split(":")[0], []]);
    expect((await within("it ends", follow.exited)).code).toBe(3);
  });

story("with -f the kept entries and the live ones are joined without a gap or a double", async () => {
  await using scene = await loggedIn({ logging: `${kept}memory_log_capacity = 1000000` });
  const { node, user } = scene;
  const log = node.node.hub.logger("server");
  let next = 0;
  for (; next < 300; next += 1) log.info(`n ${next}`);
  // It goes on all the while the command connects and joins, several in one millisecond.
  const writing = setInterval(() => {
    for (let count = 0; count < 3; count += 1, next += 1) log.info(`n ${next}`);
  }, 1);
  try {
    const follow = user.launch(["logs", "-f", "--json", "--filter", "server=info"]);
    await until("the join is long over", () => {
      const last = numbersIn(follow.stdout.slice(-2000)).at(-1) ?? 0;
      return last > 300 && numbersIn(follow.stdout).length > 1500;
    });
    clearInterval(writing);
    const end = next - 1;
    await until("the last is shown", () => follow.stdout.includes(`"message":"n ${end}"`));
    follow.signal("SIGINT");
    const { code, stdout, stderr } = await within("it ends", follow.exited);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(numbersIn(stdout)).toEqual(Array.from({ length: next }, (_, at) => at));
  } finally {
    clearInterval(writing);
  }
});

story(
  "on a terminal levels are coloured, unless the user wants no colours; Ctrl+C ends it well",
  async () => {
    await using scene = await loggedIn({ logging: kept });
    const { node, user } = scene;
    node.node.hub.logger("server").warn("look here");
    const coloured = user.terminal(["logs", "-f"]);
    await coloured.shows(/\x1b\[33m WARN\x1b\[0m .*look here/);
    await coloured.type("\x03");
    expect(await coloured.ends()).toBe(0);
    const plain = await user.does(["logs"], { isTTY: true, env: { NO_COLOR: "1" } });
    expect(plain).toContain(" WARN server: look here\n");
    expect(plain).not.toContain("\x1b");
    const forced = await user.does(["logs"], { env: { FORCE_COLOR: "1" } });
    expect(forced).toContain("\x1b[33m WARN\x1b[0m");
    for (const env of [{ FORCE_COLOR: "0" }, { FORCE_COLOR: "1", NO_COLOR: "1" }])
      expect(await user.does(["logs"], { env })).not.toContain("\x1b");
  },
);

story("a pipe that is closed ends it well and in silence", async () => {
  await using scene = await loggedIn({ logging: kept });
  const { node, user } = scene;
  const log = node.node.hub.logger("server");
  log.info("kept");
  const words = `set -o pipefail; "$@" 2>err | head -n 1; echo "ended \${PIPESTATUS[0]}"`;
  const shell = user.shell(words, ["logs", "-f"]);
  const { stdout } = await until("it ends", async () => {
    log.info("more");
    return (await Promise.race([shell, Bun.sleep(50)])) ?? undefined;
  });
  expect(stdout).toEndWith("\nended 0\n");
  expect(await readFile(user.file("err"), "utf8")).toBe("");
});

story("it comes back when the server does, and says since when entries may be missing", async () => {
  await using home = await newHome();
  await using user = await User.open();
  const first = await home.serve();
  const { port } = first.address;
  const token = first.superToken;
  await user.does(["login", first.url, "--name", "here"], { stdin: token });
  const follow = user.launch(["logs", "-f", "--json"]);
  const line = await until("the start is shown", () =>
    wholeLines(follow.stdout).find((line) => line.includes("listening on")),
  );
  const { timestamp } = JSON.parse(line) as LogEntry;
  expect(timestamp).toBeString();
  await first.stop("SIGKILL");
  await follow.says(/the connection broke/);
  const before = follow.stdout.length;
  await home.configure({ top: `ws_listener = "127.0.0.1:${port}"\n` });
  await home.serve();
  await follow.says(/connected again; entries between \S+ and \S+ may be missing\n/);
  await until("the new start is shown", () => follow.stdout.slice(before).includes("listening on"));
  follow.signal("SIGINT");
  const { code, stdout } = await within("it ends", follow.exited);
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split("\n");
  expect(new Set(lines).size).toBe(lines.length);
});

story(
  "after a break it shows what was logged meanwhile, once, and says that nothing of it is missing",
  async () => {
    await using scene = await loggedIn({ logging: kept });
    const { node, user } = scene;
    await using relay = await openRelay(Number(new URL(node.url).port));
    const log = node.node.hub.logger("server");
    log.info("n 1");
    const env = { NODE_SERVER_URL: relay.url, NODE_SERVER_TOKEN: node.superToken };
    const follow = user.launch(["logs", "-f", "--json", "--filter", "server=info"], { env });
    await until("it follows", () => follow.stdout.includes("n 1"));
    log.info("n 2");
    await until("it is live", () => follow.stdout.includes("n 2"));
    relay.cut();
    await follow.says(/the connection broke/);
    log.info("n 3");
    await relay.mend();
    await follow.says(/connected again; no entries since \S+ were lost\n/);
    await until("the gap is filled", () => follow.stdout.includes("n 3"));
    log.info("n 4");
    await until("it is live again", () => follow.stdout.includes("n 4"));
    follow.signal("SIGINT");
    const { code, stdout } = await within("it ends", follow.exited);
    expect(code).toBe(0);
    expect(numbersIn(stdout)).toEqual([1, 2, 3, 4]);
  },
);

story("a stream whose token gets another secret ends with 3", async () => {
  await using home = await newHome();
  await using user = await User.open();
  const server = await home.serve();
  await user.does(["login", server.url], { stdin: server.superToken });
  const follow = user.launch(["logs", "-f"]);
  await until("it follows", () => follow.stdout.includes("listening on"));
  expect(await home.run(["roll-super-token", "--yes"])).toMatchObject({ code: 0 });
  expect(await within("it ends", follow.exited)).toMatchObject({ code: 3 });
});

story("nobody there, or a token that may not, is told by the exit code", async () => {
  await using scene = await loggedIn({ logging: kept });
  const { node, user } = scene;
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: await node.newToken([]) };
  for (const args of [["logs"], ["logs", "-f"]]) {
    expect(await user.run(args, { env })).toMatchObject({ code: 3, stdout: "" });
    const away = { NODE_SERVER_URL: "http://127.0.0.1:1", NODE_SERVER_TOKEN: "a:b" };
    expect(await user.run(args, { env: away })).toMatchObject({ code: 4, stdout: "" });
  }
});
