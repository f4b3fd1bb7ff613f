import { expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { userByName } from "../../src/base/local-fs/access.ts";
import { loadConfig } from "../../src/config/live.ts";
import { accessNotes, writableFolders } from "../../src/host/service-paths.ts";
import { configText, tempFolder } from "../support/node.ts";
import { updating } from "../support/service.ts";

/** What `service install` says of a binary in `folder` and lets its server write, where the server updates itself. */
async function installed(folder: string, root: string, name = "daemon") {
  const config = join(root, "config.toml");
  writeFileSync(config, configText("sqlite://node.db?mode=rwc", { top: updating }));
  const user = userByName(name);
  if (user === undefined) throw new Error(`there is no user ${name}`);
  const target = { binary: join(folder, "node-server"), config, user };
  const loaded = (await loadConfig(config)).config;
  const writable = writableFolders(loaded, target);
  const notes = accessNotes(loaded, writable, target).filter((note) => note.includes("self-update"));
  return { writable: writable.some((path) => `${folder}/`.startsWith(`${path}/`)), notes };
}

test("a binary in a folder of the system is to move to one of its own, and no chown is proposed", async () => {
  await using root = await tempFolder();
  for (const folder of ["/usr/local/bin", "/usr/bin", "/usr/local/lib", "/opt", "/"]) {
    const { writable, notes } = await installed(folder, root.path);
    const own = join(root.path, "bin");
    expect([folder, writable, notes]).toEqual([
      folder,
      false,
      [
        `daemon cannot write to ${folder}, so self-update will fail; run \`install -d -o daemon -m 755 ${own}\`, move the binary there and install the service again`,
      ],
    ]);
  }
  // Root may, and must not hear of it.
  expect(await installed("/usr/local/bin", root.path, "root")).toEqual({ writable: true, notes: [] });
});

test("a folder of the binary's own gets a chown if it belongs to another, and nothing if it is the user's", async () => {
  await using root = await tempFolder();
  const own = join(root.path, "bin");
  mkdirSync(own);
  chmodSync(own, 0o755);
  const note = `daemon cannot write to ${own}, so self-update will fail; run \`chown daemon ${own}\``;
  expect(await installed(own, root.path)).toEqual({ writable: true, notes: [note] });
  const user = userByName("daemon");
  if (process.getuid?.() !== 0 || user === undefined) return;
  chownSync(own, user.uid, -1);
  expect(await installed(own, root.path)).toEqual({ writable: true, notes: [] });
});
