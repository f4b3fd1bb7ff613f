import { expect } from "bun:test";
import { mkdir, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { databaseKinds, newDatabase } from "../support/node.ts";
import { oldBlob, storedKeys } from "../support/object-rows.ts";
import { newHome, story } from "../support/process.ts";

for (const kind of databaseKinds)
  story(`check --files compares store and database beside a running server, over ${kind}`, async () => {
    await using home = await newHome();
    const place = await newDatabase(kind, home.path);
    const folder = home.file("blobs");
    await mkdir(folder);
    await home.configure({ databaseKeys: `\n[files]\nurl = "file://${folder}"\n` }, place.url);
    const server = await home.serve();
    const token = server.superToken;
    await server.call("static-bucket_create", [token, "site"]);
    const upload = (path: string, body: string) =>
      server.call("static-bucket-file_upload", { token, name: "site", path, body });
    await upload("whole.txt", "whole");
    const well = await home.run(["check", "--files"]);
    expect({ code: well.code, stderr: well.stderr }).toEqual({
      code: 0,
      stderr: "The store has 1 blob (5 B).\nEvery file has its content.\n",
    });
    expect(well.stdout).toContain("is a valid configuration");

    const [whole = ""] = await storedKeys(folder);
    const pathOf = (key: string) => join(folder, "blobs", key.slice(-2), key);
    await upload("deep/gone.txt", "gone");
    const gone = (await storedKeys(folder)).find((key) => key !== whole) ?? "";
    await rm(pathOf(gone));
    await truncate(pathOf(whole), 2);
    // Otherwise the care of the server deletes it, 10 seconds after the start.
    await place.run(
      `INSERT INTO kv (namespace, key, value) VALUES ('static-files/leases', 'care', '${JSON.stringify({ holder: "", until: 0, done: Date.now() - 1000 })}')`,
    );
    const orphan = await oldBlob(folder, "orphan");
    const found = await home.run(["check", "--files", "--json"]);
    expect(found.code).toBe(1);
    const broken = { bucket_path: "site", removed: false };
    expect(JSON.parse(found.stdout)).toEqual({
      store: `file://${folder}`,
      blobs: 2,
      bytes: 8,
      orphans: 1,
      orphan_bytes: 6,
      recent: 0,
      deleted: 0,
      missing: [{ ...broken, path: "deep/gone.txt", blob: gone, size: 4 }],
      wrong_size: [{ ...broken, path: "whole.txt", blob: whole, size: 5, stored_size: 2 }],
    });
    expect(await storedKeys(folder)).toContain(String(orphan.blob));

    const repaired = await home.run(["check", "--files", "--repair"]);
    expect(repaired.code).toBe(1);
    expect(repaired.stdout).toContain(`missing\tsite/deep/gone.txt\t4\t${gone}\n`);
    expect(repaired.stdout).toContain(`has 2 bytes\tsite/whole.txt\t5\t${whole}\n`);
    expect(repaired.stderr).toContain("1 unreferenced blob deleted.");
    expect(await storedKeys(folder)).toEqual([whole]);

    await upload("whole.txt", "whole");
    await upload("deep/gone.txt", "gone");
    // Versions whose content is gone are reported, too, as those of deleted files.
    const versions = await home.run(["check", "--files", "--json"]);
    expect(JSON.parse(versions.stdout)).toMatchObject({
      missing: [{ removed: true, path: "deep/gone.txt" }],
      wrong_size: [{ removed: true, path: "whole.txt" }],
    });

    // Content that was changed without changing its size is found by reading it.
    const [changed = ""] = (await storedKeys(folder)).filter((key) => key !== whole);
    await writeFile(pathOf(changed), "WORSE".slice(0, (await stat(pathOf(changed))).size));
    expect(await home.run(["check", "--files"])).toMatchObject({
      code: 1,
      stdout: expect.not.stringContaining("damaged"),
    });
    const read = await home.run(["check", "--files", "--content", "--json"]);
    expect([read.code, JSON.parse(read.stdout)]).toMatchObject([
      1,
      { damaged: [{ bucket_path: "site", removed: false, blob: changed }] },
    ]);
    expect((await home.run(["check", "--files", "--content"])).stdout).toMatch(
      new RegExp(`damaged\\tsite/.*\\t-\\t${changed}\\n`),
    );
    await server.stop();
    await place.drop();
  });

story("check --files has nothing to compare for plain files, and its options need it", async () => {
  await using home = await newHome();
  await home.run(["init"]);
  const plain = await home.run(["check", "--files"]);
  expect(plain).toMatchObject({ code: 0, stderr: expect.stringContaining("plain files below static_path") });
  expect(JSON.parse((await home.run(["check", "--files", "--json"])).stdout)).toEqual({ store: "disk" });
  expect((await home.run(["check", "--repair"])).code).toBe(2);

  const folder = home.file("empty");
  await mkdir(folder);
  await home.configure({ databaseKeys: `\n[files]\nurl = "file://${folder}"\n` });
  const { code, stderr } = await home.run(["check", "--files"]);
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(`the folder ${folder} has no folder \`blobs\``),
  ]);
});
