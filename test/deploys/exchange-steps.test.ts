import { describe, expect, test } from "bun:test";
import { readdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { exchangeInSteps, type FolderExchange } from "../../src/base/local-fs/folder.ts";
import { treePath } from "../../src/buckets/path.ts";
import { diskBuckets, filesIn } from "../support/disk-buckets.ts";
import { eachDatabase, migratedDatabase, tempFolder } from "../support/node.ts";

const program = resolve(import.meta.dir, "../support/exchange-process.ts");
const filesOf = (version: string) => ({ "index.html": version, "js/app.js": `script ${version}` });
const inSteps: FolderExchange = (first, second, temporary) =>
  exchangeInSteps({ first, second, temporary, rename: renameSync });

describe("a system that cannot exchange two folders at once", () => {
  eachDatabase(
    "a server that is killed between two renames is in order after its next start",
    async (kind) => {
      await using folder = await tempFolder();
      const database = await migratedDatabase(kind, folder.path);
      const staticPath = join(folder.path, "static");
      const open = () => diskBuckets(database.url, staticPath);
      let published = "first";
      {
        await using site = await open();
        await site.buckets.create("site", {}, { mayTakeOver: true });
        await site.publish(await site.prepare(filesOf(published)));
      }
      // The renames that happened: none, one, two, all three before the rows say so.
      for (const [renames, next] of ["none", "one", "two", "three"].entries()) {
        let deploy: string;
        {
          await using site = await open();
          deploy = await site.prepare(filesOf(next));
        }
        const killed = Bun.spawn(
          [process.execPath, program, database.url, staticPath, deploy, `${renames}`],
          {
            stdio: ["ignore", "ignore", "inherit"],
          },
        );
        await killed.exited;
        expect(killed.signalCode).toBe("SIGKILL");

        await using site = await open();
        expect(await site.buckets.clearStore()).toEqual([]);
        // After the second rename the new tree has the bucket's name.
        const now = renames >= 2 ? next : published;
        expect(filesIn(join(staticPath, "site"))).toEqual(filesOf(now));
        const list = await site.deploys.list(site.bucket);
        expect(list.map(({ id, state }) => [id, state])).toContainEqual([
          deploy,
          now === next ? "published" : "open",
        ]);
        expect(list.filter(({ state }) => state === "published")).toHaveLength(1);
        expect(readdirSync(join(staticPath, "~deploys/site")).some((name) => name.includes("aside"))).toBe(
          false,
        );
        // Every deploy has its own files, and can be published.
        for (const { id, place } of list)
          if (place !== null)
            expect([id, Object.keys(filesIn(join(staticPath, place)) ?? {})]).toEqual([
              id,
              Object.keys(filesOf("")),
            ]);
        await site.publish(deploy);
        expect(filesIn(join(staticPath, "site"))).toEqual(filesOf(next));
        published = next;
      }
      await database.drop();
    },
  );

  test("readers of this process find one version or the other, as a whole", async () => {
    await using folder = await tempFolder();
    const database = await migratedDatabase("sqlite", folder.path);
    const staticPath = join(folder.path, "static");
    await using site = await diskBuckets(database.url, staticPath, { exchangeFolders: inSteps });
    await site.buckets.create("site", {}, { mayTakeOver: true });
    const ids = [];
    for (const version of ["a", "b"]) ids.push(await site.prepare(filesOf(version)));
    await site.publish(ids[0] ?? "");
    const { reader } = site.buckets.filesOf(site.bucket);
    let [isDone, reads] = [false, 0];
    const read = async () => {
      while (!isDone) {
        await using file = await reader.open(treePath("js/app.js"));
        expect(["script a", "script b"]).toContain(Buffer.from(await file.bytes()).toString());
        reads += 1;
        await Bun.sleep(0);
      }
    };
    const readers = Array.from({ length: 8 }, read);
    for (let at = 1; at <= 60; at += 1) await site.publish(ids[at % 2] ?? "");
    isDone = true;
    await Promise.all(readers);
    expect(reads).toBeGreaterThan(60);
    expect(filesIn(join(staticPath, "site"))).toEqual(filesOf("a"));
  });

  test("an exchange whose second rename fails leaves both trees where they were", async () => {
    await using folder = await tempFolder();
    const database = await migratedDatabase("sqlite", folder.path);
    const staticPath = join(folder.path, "static");
    let isBroken = true;
    const rename = (from: string, to: string) => {
      if (isBroken && to.endsWith("/site")) {
        isBroken = false;
        throw Object.assign(new Error("EIO"), { code: "EIO" });
      }
      renameSync(from, to);
    };
    await using site = await diskBuckets(database.url, staticPath, {
      exchangeFolders: (first, second, temporary) => exchangeInSteps({ first, second, temporary, rename }),
    });
    await site.buckets.create("site", {}, { mayTakeOver: true });
    const deploy = await site.prepare(filesOf("new"));
    expect(await site.publish(deploy).catch(String)).toContain("EIO");
    expect(filesIn(join(staticPath, "site"))).toEqual({});
    expect((await site.deploys.get(site.bucket, deploy)).switching).toBeUndefined();
    await site.publish(deploy);
    expect(filesIn(join(staticPath, "site"))).toEqual(filesOf("new"));
  });

  test("a start does not fail when what a crash left cannot be settled, and the bucket says why", async () => {
    await using folder = await tempFolder();
    const database = await migratedDatabase("sqlite", folder.path);
    const staticPath = join(folder.path, "static");
    await using site = await diskBuckets(database.url, staticPath);
    await site.buckets.create("site", {}, { mayTakeOver: true });
    await site.publish(await site.prepare(filesOf("old")));
    const deploy = await site.prepare(filesOf("new"));
    const killed = Bun.spawn([process.execPath, program, database.url, staticPath, deploy, "3"], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    await killed.exited;
    // Somebody deletes the former files, which are at the place of the deploy now; and then those of the bucket.
    rmSync(join(staticPath, "~deploys/site"), { recursive: true });
    renameSync(join(staticPath, "site"), join(folder.path, "away"));
    await using next = await diskBuckets(database.url, staticPath);
    expect(await next.buckets.clearStore()).toEqual([]);
    const missing = { data: { reason: "files_missing" } };
    await expect(next.deploys.list(next.bucket)).rejects.toMatchObject(missing);
    renameSync(join(folder.path, "away"), join(staticPath, "site"));
    const list = await next.deploys.list(next.bucket);
    expect(list.find(({ id }) => id === deploy)?.state).toBe("published");
    const former = list.find(({ state }) => state === "previous")?.id ?? "";
    await expect(next.publish(former)).rejects.toMatchObject(missing);
    await next.deploys.delete(next.bucket, former);
    expect(await next.deploys.list(next.bucket)).toHaveLength(1);
  });
});
