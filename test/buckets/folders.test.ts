import { expect } from "bun:test";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eachDatabase, tempFolder, testNode } from "../support/node.ts";

const mayChange = (...names: string[]) => [
  { scopes: names.map((static_bucket) => ({ static_bucket })), permissions: [{ static_bucket: "write" }] },
];

eachDatabase(
  "the path of a bucket leads through no symbolic link, and makes nothing behind one",
  async (database) => {
    await using node = await testNode({ database });
    await using outside = await tempFolder();
    const token = node.superToken;
    writeFileSync(join(outside.path, "secret.txt"), "secret");
    await node.call("static-bucket_create", [token, "mine"]);
    await node.call("static-bucket_create", [token, "theirs"]);
    symlinkSync(outside.path, join(node.folder, "static/mine/out"));
    symlinkSync("../theirs", join(node.folder, "static/mine/alias"));
    symlinkSync("theirs", join(node.folder, "static/alias"));
    const refused = { code: 108, data: { field: "path" }, message: expect.stringContaining("symbolic link") };
    for (const path of ["mine/out", "mine/out/new", "mine/alias", "mine/alias/new", "alias", "alias/new"]) {
      expect({
        path,
        ...(await node.send("static-bucket_update", { token, name: "mine", path })),
      }).toMatchObject({
        path,
        error: refused,
      });
      if (path.startsWith("mine/")) continue;
      expect((await node.send("static-bucket_create", [token, "third", path])).error).toMatchObject(refused);
    }
    expect(existsSync(join(outside.path, "new"))).toBe(false);
    expect(existsSync(join(node.folder, "static/theirs/new"))).toBe(false);
    expect((await fetch(`${node.url}/node/static/mine/secret.txt`)).status).toBe(404);
  },
);

eachDatabase("a folder that holds files becomes a bucket's by the Super Token alone", async (database) => {
  await using node = await testNode({ database });
  const token = await node.newToken(mayChange("mine", "again", "left"));
  await node.call("static-bucket_create", [node.superToken, "left"]);
  writeFileSync(join(node.folder, "static/left/private.txt"), "private");
  await node.call("static-bucket_delete", [node.superToken, "left"]);
  mkdirSync(join(node.folder, "static/empty"));
  const refused = {
    code: 108,
    data: { field: "path", reason: "path_taken" },
  };
  await node.call("static-bucket_create", [token, "mine"]);
  expect(await node.refused("static-bucket_update", { token, name: "mine", path: "left" })).toMatchObject(
    refused,
  );
  expect(await node.refused("static-bucket_create", [token, "again", "left"])).toMatchObject(refused);
  expect(await node.refused("static-bucket_create", [token, "left"])).toMatchObject(refused);
  await node.call("static-bucket_update", { token, name: "mine", path: "empty" });
  await node.call("static-bucket_create", [node.superToken, "left"]);
  expect(await (await fetch(`${node.url}/node/static/left/private.txt`)).text()).toBe("private");
  // Its own folder is no take-over, whatever it holds.
  await node.call("static-bucket_update", { token, name: "left", path: "left", cors: true });
});
