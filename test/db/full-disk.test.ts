import { expect } from "bun:test";
import { chmodSync, chownSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { bothDatabases, type DatabaseKind, tempFolder, testNode } from "../support/node.ts";
import { newPostgresDatabase, postgresUser } from "../support/postgres.ts";
import { test } from "../support/test.ts";
import { webdavSite } from "../support/webdav.ts";
import { mounted } from "../support/webdav-disk.ts";

/** A database whose files are on a disk of their own, mounted at `disk`. */
async function databaseOn(kind: DatabaseKind, disk: string) {
  if (kind === "sqlite")
    return { url: `sqlite://${disk}/node.db?mode=rwc`, async [Symbol.asyncDispose]() {} };
  const { url, drop } = await newPostgresDatabase();
  const name = new URL(url).pathname.slice(1);
  const space = join(disk, "space");
  mkdirSync(space);
  if (postgresUser !== undefined) chownSync(space, postgresUser, postgresUser);
  const administrate = async (...statements: string[]) => {
    await using sql = new SQL({ url: url.replace(name, "postgres"), max: 1 });
    for (const statement of statements) await sql.unsafe(statement);
  };
  await administrate(
    `CREATE TABLESPACE s_${name} LOCATION '${space}'`,
    `ALTER DATABASE ${name} SET TABLESPACE s_${name}`,
  );
  return {
    url,
    // Also after a failure: a tablespace without its disk would fail every later checkpoint of a server that all tests share.
    async [Symbol.asyncDispose]() {
      await drop();
      await administrate(`DROP TABLESPACE s_${name}`);
    },
  };
}

const lockInfo =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';

/** Writes until the disk is full; the returned function makes room again. */
function fill(disk: string): () => void {
  let files = 0;
  for (let size = 1024 * 1024; size >= 512; ) {
    try {
      writeFileSync(join(disk, `filler-${files}`), Buffer.alloc(size));
      files += 1;
    } catch {
      size /= 2;
    }
  }
  return () => {
    for (let file = 0; file <= files; file += 1) rmSync(join(disk, `filler-${file}`), { force: true });
  };
}

bothDatabases(
  "a full disk of the database is told as what it is, 507 by WebDAV, and everything works when there is room again",
  async (kind) => {
    await using folder = await tempFolder();
    // PostgreSQL may run as another user.
    chmodSync(folder.path, 0o755);
    const disk = join(folder.path, "disk");
    using mount = mounted("a full disk of the database", disk, "size=24m");
    if (mount === undefined) return;
    await using database = await databaseOn(kind, disk);
    await using node = await testNode({ databaseUrl: database.url, logging: 'memory_log_filter = "info"' });
    // The table of buckets is empty, so that its first row needs room on the disk.
    const makeRoom = fill(disk);
    for (let round = 0; round < 3; round += 1)
      expect(await node.refused("static-bucket_create", [node.superToken, "site"])).toMatchObject({
        code: 101,
        data: { kind: "IoError", reason: "disk_full", detail: expect.any(String) },
      });
    expect(await node.call("token_get", { token: node.superToken })).toMatchObject({ username: "root" });
    makeRoom();
    const { dav } = await webdavSite(node);
    expect((await dav("PUT", "/a.txt", {}, "a")).status).toBe(201);
    const makeRoomAgain = fill(disk);
    const lock = (n: number) => dav("LOCK", `/${n}.txt`, {}, lockInfo);
    // The first locks may fit into pages that exist.
    let locks = 0;
    let refused = await lock(locks);
    for (; refused.status === 201 && locks < 500; locks += 1) refused = await lock(locks + 1);
    expect([refused.status, await refused.text()]).toEqual([
      507,
      "507 the disk of the database is full; nothing was changed.\n",
    ]);
    makeRoomAgain();
    expect((await lock(locks)).status).toBe(201);
    const lines = node.node.ring.entries().filter(({ message }) => message.includes("writes"));
    expect(lines.map(({ level }) => level)).toEqual(["ERROR", "INFO", "ERROR", "INFO"]);
  },
);

test("a server that crashed on a full disk starts again, reads, and changes nothing until there is room", async () => {
  await using folder = await tempFolder();
  const disk = join(folder.path, "disk");
  using mount = mounted("a full disk of the database", disk, "size=4m");
  if (mount === undefined) return;
  await using node = await testNode();
  const late = await node.newToken([]);
  // What a kill leaves: the changes are in the -wal file.
  const path = node.databaseUrl.replace(/^sqlite:\/\/|\?.*$/g, "");
  for (const end of ["", "-wal", "-shm", ".lock"]) copyFileSync(path + end, join(disk, `node.db${end}`));
  const makeRoom = fill(disk);
  await using again = await testNode({ databaseUrl: `sqlite://${disk}/node.db` });
  const token = node.superToken;
  expect(await again.call("token_get", { token })).toMatchObject({ username: "root" });
  expect(await again.call("token_get", { token: late })).toMatchObject({ token_limit: [] });
  expect((await again.refused("static-bucket_create", [token, "site"])).data).toMatchObject({
    reason: "disk_full",
  });
  makeRoom();
  await again.call("static-bucket_create", [token, "site"]);
});
