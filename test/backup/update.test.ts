import { Database } from "bun:sqlite";
import { beforeAll, expect } from "bun:test";
import { join } from "node:path";
import { smokeTestVariable } from "../../src/update/smoke-test.ts";
import { install, updateStory } from "../support/installed.ts";
import { compileMs, compileVersions, Releases, type Versions } from "../support/update.ts";
import { rowsOf } from "./support.ts";

const last = "m20261116_000001_token_username_skeleton_scripts";

let versions: Versions;
let broken: string;
beforeAll(async () => {
  versions = await compileVersions();
  // It fails after it has opened, and so migrated, the database.
  const failing = `export function ensureSuperToken(...given) { if (process.env.${smokeTestVariable} !== undefined) return real.ensureSuperToken(...given); throw new Error("this version cannot do that"); }`;
  broken = await versions.compileBroken("2.6.0", "auth/super-token.ts", failing);
}, compileMs);

updateStory("a rolled-back update says where the database from before its migration is", async () => {
  using releases = new Releases(versions);
  releases.answer = ({ url }) => (url.includes("v2.6.0") ? new Response(Bun.file(broken)) : undefined);
  await using home = await install(versions, { releases });
  const server = await home.serve();
  const path = join(home.path, "data/node.db");
  {
    using file = new Database(path);
    file.run("PRAGMA busy_timeout = 5000");
    file.run("DELETE FROM seaql_migrations WHERE version = ?", [last]);
  }
  const before = await rowsOf(`sqlite://${path}`);
  expect(await server.update("v2.6.0")).toMatchObject({ result: null });
  await server.says(
    /failed to start twice; going back to 1\.0\.0; the database from before its migration is in \S+:/,
  );
  await server.runs(versions.one);
  const [, copy = ""] =
    /the database from before its migration is in (\S+): `node-server restore \1`/.exec(server.stderr) ?? [];
  expect(await server.log()).toContainEqual(
    expect.objectContaining({
      fields: { event: "update.reverted", failed: "2.6.0", running: "1.0.0", backup: copy },
    }),
  );
  await server.end("SIGTERM");
  expect(await home.run(["restore", copy, "--yes"])).toMatchObject({ code: 0 });
  expect(await rowsOf(`sqlite://${path}`)).toEqual(before);
  using file = new Database(path, { readonly: true });
  expect(file.query("SELECT 1 FROM seaql_migrations WHERE version = ?").get(last)).toBeNull();
});
