import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { deploySite } from "../support/deploys.ts";
import { diskBuckets, filesIn } from "../support/disk-buckets.ts";
import { newDatabase, type TestNode, tempFolder, testNode } from "../support/node.ts";
import { mounted } from "../support/webdav-disk.ts";

type Site = Awaited<ReturnType<typeof deploySite>>;

/** A new deploy is refused with a reason before anybody fills it, and leaves nothing behind. */
async function refusedBeginning(site: Site): Promise<void> {
  const before = await site.list();
  const refused = await site.refused("begin", { force: true });
  expect(refused.data.reason).toBe("other_file_system");
  expect(await site.list()).toEqual(before);
}

/** The publication of a deploy that was begun before is refused with the same reason, and everything is as it was. */
async function refusedPublication(site: Site, deploy: string): Promise<void> {
  await site.write({ "index.html": "old" });
  await refusedBeginning(site);
  expect((await site.refused("publish", { deploy })).data.reason).toBe("other_file_system");
  expect(await site.page("index.html")).toBe("old");
  expect((await site.list()).map(({ state }) => state)).toEqual(["open"]);
  // The bucket is served and changed as before, and the deploy is still open.
  await site.write({ "later.txt": "later" });
  expect(await site.page("later.txt")).toBe("later");
  expect((await site.put(deploy, "more.txt", "more")).status).toBe(201);
}

const placesOf = (node: TestNode) => join(node.folder, "static/~deploys/site");
const folderOf = (node: TestNode) => join(node.folder, "static/site");

describe("a folder of a bucket that cannot be exchanged", () => {
  test("is a symbolic link: none can be begun, and a publication changes nothing", async () => {
    await using node = await testNode();
    const site = await deploySite(node);
    const { deploy } = await site.prepare({ "index.html": "new" });
    const [folder, elsewhere] = [folderOf(node), join(node.folder, "elsewhere")];
    renameSync(folder, elsewhere);
    symlinkSync(elsewhere, folder);
    await refusedPublication(site, deploy);
    expect(readdirSync(placesOf(node))).toHaveLength(1);
    rmSync(folder);
    renameSync(elsewhere, folder);
    await site.publish(deploy);
    expect(await site.contents()).toEqual({ "index.html": "new", "more.txt": "more" });
  });

  test("is on another file system than its deploys: none can be begun", async () => {
    await using node = await testNode();
    const site = await deploySite(node);
    const isElsewhere = (path: string) => statSync(path).dev !== statSync(node.folder).dev;
    const other = mkdtempSync(join(["/dev/shm", "/tmp"].find(isElsewhere) ?? "", "node-server-test-"));
    try {
      symlinkSync(other, join(node.folder, "static/~deploys"));
      await refusedBeginning(site);
      expect(readdirSync(other)).toEqual([]);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  test("is a mount point: none can be begun, and a publication changes nothing", async () => {
    await using node = await testNode();
    const site = await deploySite(node);
    const { deploy } = await site.prepare({ "index.html": "new" });
    {
      using mount = mounted("a bucket that is a mount point", folderOf(node), "size=8m");
      if (mount === undefined) return;
      await refusedPublication(site, deploy);
    }
    await site.publish(deploy);
    expect(await site.page("index.html")).toBe("new");
  });

  test("is a mount point of the same file system, which only the rename finds out", async () => {
    await using folder = await tempFolder();
    const database = await newDatabase("sqlite", folder.path);
    const staticPath = join(folder.path, "static");
    await using site = await diskBuckets(database.url, staticPath, {
      exchangeFolders() {
        throw Object.assign(new Error("EBUSY"), { code: "EBUSY" });
      },
    });
    await site.buckets.create("site", {}, { mayTakeOver: true });
    const deploy = await site.prepare({ "index.html": "new" });
    await expect(site.publish(deploy)).rejects.toMatchObject({ data: { reason: "other_file_system" } });
    expect((await site.deploys.get(site.bucket, deploy)).switching).toBeUndefined();
    expect(filesIn(join(staticPath, "site"))).toEqual({});
  });
});
