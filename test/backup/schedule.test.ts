import { expect, test } from "bun:test";
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { verifyBackup } from "../../src/backup/read-backup.ts";
import { backUpInChild } from "../../src/backup/schedule.ts";
import { settingsFor } from "../support/database-settings.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { metricsOf } from "../support/metrics.ts";
import { configText, eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { newHome } from "../support/process.ts";
import { until } from "../support/until.ts";

const top = (every: string, more = "") => `backup_dir = "BACKUPS"\nbackup_every = "${every}"\n${more}`;

const hourMs = 3_600_000;

type BackingUp = TestNode & { readonly backups: string; readonly clock: ManualClock };

/** A node whose backups go to a folder in its own one. */
async function backingUp(kind: "sqlite" | "postgres", settings: string): Promise<BackingUp> {
  const clock = new ManualClock();
  const node = await testNode({ database: kind, logging: 'memory_log_filter = "info"\n', clock });
  const backups = join(node.folder, "backups");
  const made = Object.assign(node, { backups, clock });
  await rewrite(made, backups, settings);
  return made;
}

/** Applies settings; the schedule looks at once. */
async function rewrite(node: BackingUp, backups: string, settings: string): Promise<void> {
  const storage = `static_path = ${JSON.stringify(join(node.folder, "static"))}\n`;
  const text = configText(node.databaseUrl, {
    top: storage + settings.replace("BACKUPS", backups),
    logging: 'memory_log_filter = "info"\n',
  });
  await writeFile(node.configPath, text);
  await node.node.reload();
  await node.clock.jump(0);
}

async function events(node: TestNode, event: string): Promise<Record<string, unknown>[]> {
  const entries = (await node.call("node-server_log", { token: node.superToken })) as {
    fields: Record<string, unknown>;
    level: string;
  }[];
  return entries
    .filter(({ fields }) => fields.event === event)
    .map(({ fields, level }) => ({ ...fields, level }));
}

/** Waits for the event; the schedule may set its timer only after the clock was turned, so the clock goes on meanwhile. */
function hasLogged(node: BackingUp, event: string, times: number): Promise<void> {
  const isLogged = async () => (await events(node, event)).length === times;
  return node.clock.until(`${event} was logged ${times} times`, 1000, isLogged);
}

eachDatabase(
  "a server makes its backups, keeps the newest ones and leaves other files alone",
  async (kind) => {
    await using node = await backingUp(kind, "");
    await mkdir(node.backups);
    await writeFile(join(node.backups, "by-hand.tar.zst"), "");
    await node.call("static-bucket_create", { token: node.superToken, name: "site" });
    await rewrite(node, node.backups, top("1h", "backup_keep = 2\nbackup_files = true\n"));
    await hasLogged(node, "backup.made", 1);
    for (let count = 2; count <= 4; count += 1) {
      await node.clock.jump(hourMs);
      await hasLogged(node, "backup.made", count);
    }
    const made = await events(node, "backup.made");
    expect(made[0]).toMatchObject({ level: "INFO", left_out: 0, bytes: expect.any(Number) });
    await rewrite(node, node.backups, "");
    const names = await until("two are left", async () => {
      const found = (await readdir(node.backups)).sort();
      return found.length === 3 && found;
    });
    expect(names).toEqual([
      "by-hand.tar.zst",
      expect.stringMatching(/^node-server-[0-9a-f]{8}-\d{8}T\d{6}Z\.tar\.zst$/),
      expect.any(String),
    ]);
    const path = join(node.backups, names.at(-1) ?? "");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const backup = await verifyBackup(path);
    expect(backup.header.buckets).toEqual([{ name: "site", path: "site" }]);
    expect(backup.header.server_uuid).toBe(String(await node.call("node-server_uuid")));
    expect(backup.config).toContain("backup_keep = 2");
  },
);

eachDatabase("a backup that is young enough is not made again after a reload", async (kind) => {
  await using node = await backingUp(kind, top("1h"));
  await hasLogged(node, "backup.made", 1);
  const [first = ""] = await readdir(node.backups);
  // An old time of the file says nothing: the name counts.
  await utimes(join(node.backups, first), new Date(0), new Date(0));
  await rewrite(node, node.backups, top("2h"));
  await rewrite(node, node.backups, top("1h", "backup_files = true\n"));
  // Another, due by the name of an older one, shows that the schedule has looked.
  const uuid = String(await node.call("node-server_uuid")).slice(0, 8);
  await rewrite(node, join(node.folder, "others"), "");
  await mkdir(join(node.folder, "others"));
  await writeFile(join(node.folder, "others", `node-server-${uuid}-20200101T000000Z.tar.zst`), "old");
  await rewrite(node, join(node.folder, "others"), top("1h"));
  await hasLogged(node, "backup.made", 2);
  expect(await readdir(node.backups)).toEqual([first]);
});

eachDatabase("a backup that fails is an ERROR line, keeps the old ones, and is tried again", async (kind) => {
  await using node = await backingUp(kind, "");
  await rewrite(node, node.backups, top("1h"));
  await hasLogged(node, "backup.made", 1);
  // A file is where the folder should be.
  await rename(node.backups, join(node.folder, "away"));
  await writeFile(node.backups, "");
  await node.clock.jump(hourMs);
  await hasLogged(node, "backup.failed", 1);
  await node.clock.jump(hourMs / 6);
  await hasLogged(node, "backup.failed", 2);
  const [failed] = await events(node, "backup.failed");
  expect(failed).toMatchObject({
    level: "ERROR",
    folder: node.backups,
    retry_ms: hourMs / 6,
    reason: expect.stringMatching(/./),
  });
  const status = () => node.call("node-server_status", { token: node.superToken });
  expect(await status()).toMatchObject({
    reasons: expect.arrayContaining([{ code: "backup", level: "attention", last: expect.any(String) }]),
  });
  const of = await metricsOf(node);
  expect(of("node_server_backup_failures_total")).toBe(2);
  expect(of("node_server_backup_interval_seconds")).toBe(3600);
  expect(of("node_server_backup_last_success_seconds")).toBeGreaterThan(1.7e9);
  expect(of('node_server_status_reason{code="backup"}')).toBe(1);
  expect(await node.call("node-server_hello")).toBe("Node Server Is Running!");
  await rewrite(node, join(node.folder, "elsewhere"), top("1h"));
  await hasLogged(node, "backup.made", 2);
  expect((await stat(join(node.folder, "elsewhere"))).mode & 0o777).toBe(0o700);
  await until("the backups are well", async () => !JSON.stringify(await status()).includes('"backup"'));
});

test("a backup that is young enough is not made again after a restart", async () => {
  const settings = (folder: string) => ({ top: `backup_dir = "${folder}"\nbackup_every = "1h"\n` });
  await using home = await newHome(settings("backups"));
  const first = await home.serve();
  await first.says(/INFO server: backup made event=backup\.made path=\S+ bytes=\d+ /);
  await first.stop();
  const second = await home.serve();
  // One in another folder shows that the schedule is at work.
  await home.configure(settings("others"));
  await second.reload();
  await second.says(/backup made event=backup\.made path=\S*\/others\//);
  expect(await readdir(home.file("backups"))).toHaveLength(1);
});

test("a server that stops in the middle of a backup leaves nothing of it", async () => {
  await using node = await testNode();
  const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(48_000))).toString("base64");
  for (let row = 0; row < 400; row += 1)
    await node.sql(
      `INSERT INTO js_worker (name, js_script, create_at, update_at) VALUES ('w${row}', '${row}${noise}', 0, 0)`,
    );
  const folder = join(node.folder, "backups");
  await mkdir(folder);
  const source = {
    database: settingsFor(node.databaseUrl),
    configPath: node.configPath,
    serverUuid: undefined,
    files: undefined,
  };
  const path = join(folder, "b.tar.zst");
  let outcome = "made";
  // One that was made before it could be stopped is tried again.
  for (let attempt = 0; attempt < 20 && outcome === "made"; attempt += 1) {
    await rm(path, { force: true });
    const stop = new AbortController();
    const making = backUpInChild(path, source, stop.signal).then(
      () => "made",
      () => "ended",
    );
    await until("the backup has begun", async () => (await readdir(folder)).length > 0);
    stop.abort();
    outcome = await making;
  }
  expect(outcome).toBe("ended");
  expect(await readdir(folder)).toEqual([]);
});
