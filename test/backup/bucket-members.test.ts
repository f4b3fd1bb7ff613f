import { expect, test } from "bun:test";
import { chown, mkdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeBackupFile } from "../../src/backup/make-backup.ts";
import { verifyBackup } from "../../src/backup/read-backup.ts";
import { restoreBackup } from "../../src/backup/restore.ts";
import { bucketMembers } from "../../src/backup/write-backup.ts";
import { openPublished } from "../../src/buckets/open-storage.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { initDatabase, newDatabase, tempFolder } from "../support/node.ts";

const token = "backupBackupBack:backupBackupBackupBackupBackup12";

test("a large file that becomes shorter while it is read keeps its announced size, and is named", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "site/large.bin");
  await mkdir(join(folder.path, "site"));
  await writeFile(path, Buffer.alloc(3_000_000, "x"));
  const notes: string[] = [];
  const sizes: number[] = [];
  const files = await openPublished(
    { staticPath: folder.path },
    settingsFor("sqlite://unused"),
    new LogHub(),
  );
  for await (const member of bucketMembers({
    files,
    name: "site",
    path: "site",
    note: (text) => notes.push(text),
  })) {
    if (member.kind === "folder") continue;
    await truncate(path, 1_000_000);
    const content = Buffer.concat(await Array.fromAsync(member.content()));
    sizes.push(member.size, content.length, content.lastIndexOf("x") + 1);
  }
  expect(sizes).toEqual([3_000_000, 3_000_000, 1_000_000]);
  expect(notes).toEqual(["site/large.bin changed while it was read"]);
});

test("a file that another program appends to all the time is in the backup as it was at one moment", async () => {
  await using folder = await tempFolder();
  const { url, run } = await newDatabase("sqlite", folder.path);
  await initDatabase(url, token);
  await run("INSERT INTO static_file (name, path) VALUES ('site', 'site')");
  const path = join(folder.path, "static/site/growing.log");
  await mkdir(join(folder.path, "static/site"), { recursive: true });
  await writeFile(path, "");
  let isDone = false;
  const appending = (async () => {
    for (let line = 0; !isDone; line += 1) {
      await writeFile(path, `${line}\n`.padStart(1000), { flag: "a" });
      await Bun.sleep(1);
    }
  })();
  const configPath = join(folder.path, "config.toml");
  await writeFile(configPath, "");
  const source = {
    database: settingsFor(url),
    configPath,
    serverUuid: undefined,
    files: { staticPath: join(folder.path, "static") },
  };
  const backup = join(folder.path, "b.tar.zst");
  for (let round = 0; round < 10; round += 1) {
    await makeBackupFile(backup, source, { hub: new LogHub() });
    // Size and checksum are those of what is in the archive.
    expect((await verifyBackup(backup)).manifest.files.count).toBe(1);
  }
  isDone = true;
  await appending;
  const restored = join(folder.path, "restored");
  await restoreBackup(await verifyBackup(backup), {
    database: settingsFor(`sqlite://${join(folder.path, "restored.db")}?mode=rwc`),
    files: { staticPath: restored },
    hub: new LogHub(),
  });
  const [whole, copy] = [
    await readFile(path, "utf8"),
    await readFile(join(restored, "site/growing.log"), "utf8"),
  ];
  expect(whole.startsWith(copy)).toBe(true);
});

test("restored by root, everything belongs to the owner of the folder that it is put into", async () => {
  if (process.getuid?.() !== 0) return;
  await using folder = await tempFolder();
  const { url, run } = await newDatabase("sqlite", folder.path);
  await initDatabase(url, token);
  await run("INSERT INTO static_file (name, path) VALUES ('site', 'pages/site')");
  await mkdir(join(folder.path, "static/pages/site/sub"), { recursive: true });
  await writeFile(join(folder.path, "static/pages/site/sub/page.html"), "page");
  const [configPath, backup] = [join(folder.path, "config.toml"), join(folder.path, "b.tar.zst")];
  await writeFile(configPath, "");
  const staticPath = join(folder.path, "static");
  const source = { database: settingsFor(url), configPath, serverUuid: undefined, files: { staticPath } };
  await makeBackupFile(backup, source, { hub: new LogHub() });
  const target = join(folder.path, "target");
  await mkdir(join(target, "static"), { recursive: true });
  for (const path of [target, join(target, "static")]) await chown(path, 12_345, 23_456);
  await restoreBackup(await verifyBackup(backup), {
    database: settingsFor(`sqlite://${join(target, "node.db")}?mode=rwc`),
    files: { staticPath: join(target, "static") },
    hub: new LogHub(),
  });
  for (const name of [
    "node.db",
    "static/pages",
    "static/pages/site",
    "static/pages/site/sub",
    "static/pages/site/sub/page.html",
  ])
    expect(await stat(join(target, name))).toMatchObject({ uid: 12_345, gid: 23_456 });
});
