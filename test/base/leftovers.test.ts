import { expect, test } from "bun:test";
import { mkdir, readdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile, temporaryName } from "../../src/base/local-fs/replace-file.ts";
import { openNode } from "../../src/node.ts";
import { Binary } from "../../src/update/binary.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { tempFolder, testNode } from "../support/node.ts";

/** A file as a process that was killed before its rename leaves it. */
async function leave(folder: string, name: string, ageMs: number): Promise<void> {
  const path = join(folder, name);
  await writeFile(path, "secret", { mode: 0o600 });
  const time = new Date(Date.now() - ageMs);
  await utimes(path, time, time);
}

test("a replacement removes what earlier ones left, and nothing else", async () => {
  await using folder = await tempFolder();
  const others = [
    // An operator's own copies.
    "state.20261115.tmp",
    "state.aB3dE6gH.tmp",
    "state.tmp",
    ".node-server-0123456789abcdef-state.tmp.bak",
    ".node-server-0123456789abcde-state.tmp",
    ".node-server-0123456789abcdef0-state.tmp",
    ".node-server-0123456789abcdeF-state.tmp",
    ".node-server-0123456789abcdef-xstate.tmp",
    ".node-server-0123456789abcdef-state.json.tmp",
  ];
  for (const name of others) await leave(folder.path, name, 60_000);
  // One that is being written now, a folder, and a link.
  await leave(folder.path, temporaryName("state"), 0);
  await mkdir(join(folder.path, temporaryName("state")));
  await symlink("state.tmp", join(folder.path, temporaryName("state")));
  const kept = await readdir(folder.path);
  await leave(folder.path, ".node-server-0123456789abcdef-state.tmp", 60_000);
  await leave(folder.path, temporaryName("state"), 3_600_000);
  await leave(folder.path, temporaryName("state"), -3_600_000);
  await replaceFile(join(folder.path, "state"), "text");
  expect((await readdir(folder.path)).sort()).toEqual(["state", ...kept].sort());
});

test("an update removes what a power cut left of its download and its record, and nothing else", async () => {
  await using folder = await tempFolder();
  const record = ".server.update.json";
  for (const name of [temporaryName(record), ".server.new-abcd"]) await leave(folder.path, name, 60_000);
  const others = ["server", record, `${record}.20261115.tmp`, temporaryName("config.toml")];
  for (const name of others) await leave(folder.path, name, 60_000);
  await new Binary(join(folder.path, "server")).clearLeftovers();
  expect((await readdir(folder.path)).sort()).toEqual(others.sort());
});

test("a start removes what a kill -9 during edit_config left, also when that was a moment ago", async () => {
  await using first = await testNode();
  const { configPath, folder } = first;
  await first.node.close();
  for (const [name, ageMs] of [
    [temporaryName("config.toml"), 60_000],
    [temporaryName("config.toml"), 0],
    [temporaryName("config.uuid"), 60_000],
    ["config.toml.20261115.tmp", 60_000],
  ] as const)
    await leave(folder, name, ageMs);
  const clock = new ManualClock();
  const env = { RUST_LOG: "off" };
  await using _again = await openNode({ configPath, workingDirectory: folder, env, clock, show() {} });
  const left = async () => (await readdir(folder)).filter((name) => name.endsWith(".tmp"));
  expect(await left()).toHaveLength(2);
  await clock.until("only the operator's own is left", 11_000, async () => (await left()).length === 1);
  expect(await left()).toEqual(["config.toml.20261115.tmp"]);
});
