import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { databaseKinds, newDatabase } from "../support/node.ts";
import { oldBlob, storedKeys } from "../support/object-rows.ts";
import { newHome, story } from "../support/process.ts";

for (const kind of databaseKinds)
  story(`a server looks after its object store by itself, once a day, over ${kind}`, async () => {
    await using home = await newHome();
    const place = await newDatabase(kind, home.path);
    const folder = home.file("blobs");
    await mkdir(folder);
    await home.configure({ databaseKeys: `\n[files]\nurl = "file://${folder}"\n` }, place.url);
    const first = await home.serve();
    const token = first.superToken;
    await first.call("static-bucket_create", [token, "site"]);
    await first.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body: "a" });
    await first.stop();
    const [kept = ""] = await storedKeys(folder);
    const orphan = await oldBlob(folder, "orphan");
    // If the first server was slow, it has swept already.
    await place.run("DELETE FROM kv WHERE namespace = 'static-files/leases'");
    const server = await home.serve();
    const [line] = await server.says(/^.*the file store was swept.*$/m);
    expect(line).toMatch(/INFO server: .*event=files\.swept.* deleted_blobs=1 deleted_bytes=6 .*manifests=1/);
    expect(await storedKeys(folder)).toEqual([kept]);
    expect(existsSync(join(folder, "blobs", String(orphan.blob).slice(-2), String(orphan.blob)))).toBe(false);
    expect(existsSync(join(folder, "manifests/site.jsonl"))).toBe(true);
    expect(await server.stop()).toMatchObject({ code: 0 });
    await place.drop();
  });
