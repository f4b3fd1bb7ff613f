import { expect, test } from "bun:test";
import { mkdir, readdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../../src/base/replace-file.ts";
import { tempFolder } from "../support/node.ts";
import { newHome, story, until } from "../support/process.ts";

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
    "state.aB3dE6gH.tmp.bak",
    "state.aB3dE6g.tmp",
    "state.aB3dE6gHi.tmp",
    "state.aB3-E6gH.tmp",
    "state.tmp",
    "xstate.aB3dE6gH.tmp",
    "state.json.aB3dE6gH.tmp",
  ];
  for (const name of others) await leave(folder.path, name, 60_000);
  // One that is being written now, a folder, and a link.
  await leave(folder.path, "state.youngOne.tmp", 0);
  await mkdir(join(folder.path, "state.folder00.tmp"));
  await symlink("state.tmp", join(folder.path, "state.link0000.tmp"));
  const kept = await readdir(folder.path);
  await leave(folder.path, "state.aB3dE6gH.tmp", 60_000);
  await leave(folder.path, "state.zzzzzzzz.tmp", 3_600_000);
  await leave(folder.path, "state.future00.tmp", -3_600_000);
  await replaceFile(join(folder.path, "state"), "text");
  expect((await readdir(folder.path)).sort()).toEqual(["state", ...kept].sort());
});

story("a start removes what a kill -9 during edit_config left, also when that was a moment ago", async () => {
  await using home = await newHome();
  for (const [name, ageMs] of [
    ["config.toml.aB3dE6gH.tmp", 60_000],
    ["config.toml.zzzzzzzz.tmp", 0],
    ["config.uuid.aB3dE6gH.tmp", 60_000],
  ] as const)
    await leave(home.path, name, ageMs);
  const server = await home.serve();
  const left = async () => (await readdir(home.path)).filter((name) => name.endsWith(".tmp"));
  await until("the old ones are gone", async () => (await left()).length <= 1);
  await until("all are gone", async () => (await left()).length === 0, 30_000);
  expect(await server.stop()).toMatchObject({ code: 0 });
});
