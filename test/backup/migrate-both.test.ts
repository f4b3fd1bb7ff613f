import { expect } from "bun:test";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { newDatabase } from "../support/node.ts";
import { storedKeys } from "../support/object-rows.ts";
import { story } from "../support/process.ts";
import { expected, look, newSite } from "./migrate-site.ts";

story("a server goes to PostgreSQL and a blob store in one step, and back", async () => {
  const { home, token } = await newSite("sqlite");
  await using _ = home;
  const blobs = home.file("blobs");
  await mkdir(blobs);
  const postgres = await newDatabase("postgres", home.path);
  const moved = await home.run([
    ...["migrate", "--to", postgres.url],
    ...["--files", `file://${blobs}`, "--write-config"],
  ]);
  expect(moved).toMatchObject({ code: 0, stderr: expect.stringContaining("names the new store") });
  expect(moved.stderr + moved.stdout).not.toContain(new URL(postgres.url).password || "no password");
  const config = await readFile(home.configPath, "utf8");
  expect(config).toContain(`[files]\nurl = "file://${blobs}"\n`);
  // The old server is as it was: its database names no blob.
  expect(await storedKeys(blobs)).toHaveLength(3);
  let server = await home.serve();
  expect(await look(server, token)).toEqual(expected);
  await server.stop();

  await writeFile(home.file("static/b/site/mine"), "written by hand");
  const back = ["migrate", "--to", `sqlite://${home.file("back.db")}`, "--files", "disk", "--write-config"];
  expect(await home.run(back)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /only in plain files .*: site\/mine\n.*\nthe database was copied, but not all files. To continue, run `node-server migrate --files disk` with the same -c\n/s,
    ),
  });
  // The new database with the old store is a server that works, and the command that was named goes on.
  server = await home.serve();
  expect(await look(server, token)).toEqual(expected);
  await server.stop();
  expect(await home.run(["migrate", "--files", "disk", "--delete", "--write-config"])).toMatchObject({
    code: 0,
  });
  const last = await readFile(home.configPath, "utf8");
  expect([last.includes("back.db"), last.includes(blobs)]).toEqual([true, false]);
  server = await home.serve();
  expect(await look(server, token)).toEqual(expected);
  await server.stop();
  await postgres.drop();
});
