import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { SQL } from "bun";
import { smokeTestVariable } from "../../src/update/smoke-test.ts";
import { type Installation, install, type Program, token } from "../support/installed.ts";
import { tempFolder } from "../support/node.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { within } from "../support/until.ts";
import { compileMs, compileVersions, Releases, type Versions } from "../support/update.ts";

interface Node {
  readonly home: Installation;
  readonly server: Program;
}

let versions: Versions;
let databaseUrl: string;
let nodes: { readonly alpha: Node; readonly beta: Node };
const closing = new AsyncDisposableStack();

beforeAll(async () => {
  versions = await compileVersions();
  // It serves when it is tested, and fails when it is to take over. The same as in update-rollback.test.ts, which is compiled
  // once for both.
  const failing = `export function openDatabase(...given) { if (process.env.${smokeTestVariable} !== undefined) return real.openDatabase(...given); throw new Error("this version cannot do that"); }`;
  const broken = await versions.compileBroken("2.1.0", "db/database.ts", failing);
  const releases = closing.use(new Releases(versions));
  releases.answer = ({ url }) => (url.includes("v2.1.0") ? new Response(Bun.file(broken)) : undefined);
  const database = await newPostgresDatabase();
  closing.defer(() => database.drop());
  databaseUrl = database.url;
  const folder = closing.use(await tempFolder());
  await mkdir(join(folder.path, "blobs"));
  const files = `url = "${pathToFileURL(join(folder.path, "blobs"))}"\n`;
  const open = async (name: string, ...args: string[]): Promise<Node> => {
    const top = `node_name = "${name}"\n`;
    const home = closing.use(await install(versions, { releases, databaseUrl: database.url, files, top }));
    const server = home.launch(["serve", ...args]);
    await server.says(/INFO server: listening on \S+\n/);
    return { home, server };
  };
  nodes = { alpha: await open("alpha"), beta: await open("beta", "--processes", "2") };
}, compileMs);
afterAll(() => closing.disposeAsync());

/** Starts `update --all` against alpha. Beta is a node of two processes. */
function updateAll(...args: string[]): Program {
  const { home, server } = nodes.alpha;
  const env = { NODE_SERVER_URL: server.url, NODE_SERVER_TOKEN: token };
  return home.launch(["update", "--all", "--yes", "--watch", "1", ...args], env);
}

const ended = (command: Program) => within("the command ends", command.exited, 60_000);
const versionsNow = async () => [await nodes.alpha.server.version(), await nodes.beta.server.version()];
/** The lines that say which node is being updated, in their order. */
const turnsIn = (stderr: string) =>
  [...stderr.matchAll(/^node-server: (\S+): updating/gm)].map(([, name]) => name);

/** One after another: the nodes are where the story before has left them. Three processes of two nodes start in each, one by one. */
const story = (title: string, tell: () => Promise<void>) => test(title, tell, 90_000);

story(
  "a version that fails on the first node is rolled back there, and no other node is touched",
  async () => {
    const { code, stdout, stderr } = await ended(updateAll("--tag", "v2.1.0", "--json"));
    expect(code).toBe(1);
    expect(turnsIn(stderr)).toEqual(["beta"]);
    expect(stderr).toMatch(
      /the update stopped at beta: the update was rolled back: it runs 1\.0\.0 again.*; run v2\.1\.0: none; not updated: beta, alpha\n/,
    );
    expect(JSON.parse(stdout)).toMatchObject({
      tag: "v2.1.0",
      nodes: [
        { name: "beta", url: nodes.beta.server.url, from: "1.0.0", state: "failed" },
        { name: "alpha", url: nodes.alpha.server.url, from: "1.0.0", state: "pending" },
      ],
    });
    expect(await versionsNow()).toEqual(["1.0.0", "1.0.0"]);
  },
);

story(
  "all nodes are updated one after another, the named one last, and only those that need it",
  async () => {
    const { code, stdout, stderr } = await ended(updateAll("--tag", "v2.0.0"));
    expect({ code, stdout }).toEqual({ code: 0, stdout: "2 of 2 nodes run v2.0.0 now\n" });
    expect(turnsIn(stderr)).toEqual(["beta", "alpha"]);
    expect(stderr).toMatch(/beta: 1\.0\.0 to 2\.0\.0, the canary/);
    // The second node is not touched before the first is proven.
    expect(stderr.indexOf("beta: runs v2.0.0 and is ready")).toBeLessThan(stderr.indexOf("alpha: updating"));
    expect(await versionsNow()).toEqual(["2.0.0", "2.0.0"]);
    expect([nodes.alpha.server.alive, nodes.beta.server.alive]).toEqual([true, true]);
    const again = await ended(updateAll("--tag", "v2.0.0"));
    expect(again.code).toBe(0);
    expect(turnsIn(again.stderr)).toEqual([]);
    expect(again.stderr).toMatch(/beta: runs v2\.0\.0 already/);
  },
);

story("Ctrl+C ends it before the next node, and says where it stands", async () => {
  const command = updateAll("--tag", "v1.0.0");
  await command.says(/beta: updating/);
  command.signal("SIGINT");
  const { code, stdout, stderr } = await ended(command);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/the update was interrupted; run v1\.0\.0: beta; not updated: alpha\n/);
  expect(await versionsNow()).toEqual(["2.0.0", "1.0.0"]);
});

story("nothing is updated while a node is not reached, or the token is refused", async () => {
  const stranger = await nodes.alpha.server.call("token_create", [
    token,
    { token_limit: [{ scopes: ["global"], permissions: [{ node: "read_nodes" }] }] },
  ]);
  const { key, secret } = stranger as { key: string; secret: string };
  const env = { NODE_SERVER_URL: nodes.alpha.server.url, NODE_SERVER_TOKEN: `${key}:${secret}` };
  const args = ["update", "--all", "--yes", "--watch", "0", "--tag", "v2.0.0"];
  expect(await nodes.alpha.home.run(args, env)).toMatchObject({
    code: 3,
  });
  // A node that ended without a notice.
  await using sql = new SQL({ url: databaseUrl, max: 1 });
  await sql.unsafe(
    `INSERT INTO kv (namespace, key, value) SELECT 'nodes', '00000000-0000-4000-8000-00000000dead/00000000-0000-4000-8000-0000000000b0', value || '{"name":"delta","boot":"00000000-0000-4000-8000-0000000000b0","url":"http://127.0.0.1:1","since":1}' FROM kv WHERE namespace = 'nodes' LIMIT 1`,
  );
  const before = await versionsNow();
  const { code, stderr } = await ended(updateAll("--tag", "v1.0.0"));
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /nothing was updated, because not every node can be:\n.*delta: .*nothing listens there/,
  );
  expect(await versionsNow()).toEqual(before);
});
