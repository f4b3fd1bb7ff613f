import { describe, expect } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readArchive } from "../backup/support.ts";
import { deployClient, deploySite } from "../support/deploys.ts";
import { eachStore, testNode } from "../support/node.ts";
import { backupOf, restoredNode } from "../support/restored-node.ts";
import { until } from "../support/until.ts";

const fileCount = 24;

const filesOf = (version: string) =>
  Object.fromEntries(
    Array.from({ length: fileCount }, (_, at) => [`part ${at % 5}/${at}.txt`, `${version} ${at}`]),
  );

describe("a backup while deploys are published", () => {
  eachStore("has one whole version, and starts clean where it is restored", async (store) => {
    // A tree that was replaced is deleted at once, while the backup may still read it.
    await using node = await testNode({ ...store, top: "keep_deploys = 1\nsync_uploads = false\n" });
    const site = await deploySite(node);
    await site.deploy(filesOf("v0"));
    let isDone = false;
    let published = 0;
    const publishing = (async () => {
      while (!isDone) {
        published += 1;
        await site.deploy(filesOf(`v${published}`), { force: true });
      }
    })();
    const path = join(node.folder, "b.tar.zst");
    const versions = new Set<string>();
    // Several, because one may happen to be between two publications.
    for (let round = 0; round < 3; round += 1) {
      const before = published;
      const { files, notes } = await backupOf(node, path);
      expect({ files, notes }).toEqual({ files: fileCount, notes: [] });
      const members = await readArchive(path);
      const contents = members
        .filter(({ name, kind }) => kind === "file" && name.startsWith("files/site/"))
        .map(({ bytes }) => bytes.toString());
      const [version = ""] = contents[0]?.split(" ") ?? [];
      expect(contents.sort()).toEqual(Object.values(filesOf(version)).sort());
      versions.add(version);
      while (published === before) await Bun.sleep(5);
    }
    isDone = true;
    await publishing;

    {
      await using restored = await restoredNode(path, store);
      const again = deployClient(restored.node, { token: node.superToken });
      expect(await again.list()).toEqual([]);
      const [first = ""] = Object.keys(filesOf(""));
      expect(versions).toContain(String(await again.page(first)).split(" ")[0] ?? "");
      const deploy = await again.deploy(filesOf("after"));
      expect((await again.list()).map(({ state }) => state).sort()).toEqual(["previous", "published"]);
      expect((await again.list())[0]?.deploy).toBe(deploy);
      await again.rollback();
      expect(await again.page(first)).not.toContain("after");
    }
    const kept = join(node.folder, "static/~deploys/site");
    if (store.store === "disk")
      await until("replaced trees are gone", () => !existsSync(kept) || readdirSync(kept).length < 2);
  });
});
