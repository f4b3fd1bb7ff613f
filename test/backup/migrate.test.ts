import { expect } from "bun:test";
import { lastUnrecorded, migrations } from "../../src/db/migrations/migrations.ts";
import { type DatabaseKind, databaseKinds, eachDatabase, newDatabase } from "../support/node.ts";
import { newPostgresDatabase } from "../support/postgres.ts";
import { Home, newHome, story } from "../support/process.ts";
import { rowsOf } from "./support.ts";

/** Rows with everything that the two databases write differently. */
const statements = (kind: DatabaseKind) => [
  `INSERT INTO js_worker (name, js_script, js_byte_code, env, create_at, update_at)
   VALUES ('w', 'let a = "ü";', ${kind === "sqlite" ? "x'00ff10'" : "'\\x00ff10'"}, '{"z":[1, 2.50, 1e3],"aa":{"n":12345678901234567890}}', 9223372036854775807, 0)`,
  "INSERT INTO monitoring_uuid (uuid, soft_delete) VALUES ('0b6c2f6e-6b0a-4e0f-9a4e-2f6d8f1c9a11', true)",
  `INSERT INTO kv (namespace, key, value) VALUES ${Array.from({ length: 3000 }, (_, at) => `('n', 'key ${at}', '{"at":${at}}')`).join()}`,
];

for (const kind of databaseKinds)
  story(`a server goes from ${kind} to the other database and back with equal contents`, async () => {
    await using home = await newHome();
    const other = kind === "sqlite" ? "postgres" : "sqlite";
    const places = [
      await newDatabase(kind, home.file("first")),
      await newDatabase(other, home.file("second")),
      await newDatabase(kind, home.file("third")),
    ] as const;
    await home.configure({ top: "# kept\n" }, places[0].url);
    const server = await home.serve();
    const token = server.superToken;
    for (const statement of statements(kind)) await places[0].run(statement);
    const running = await home.run(["migrate", "--to", places[1].url]);
    expect(running).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/in use by another node-server|uses this database|runs at http/),
    });
    await server.stop();
    const before = await rowsOf(places[0].url);

    for (const [at, place] of [places[1], places[2]].entries()) {
      const moved = await home.run(["migrate", "--to", place.url, "--write-config"]);
      expect({ code: moved.code, stderr: moved.stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(
          /rows and checksums of all tables are the same\.\ndatabase_url in .* names the new database/,
        ),
      });
      // One more row tells the effect of each later migration.
      const effects = migrations.filter(({ version }) => version > lastUnrecorded).length;
      expect(moved.stdout).toMatch(new RegExp(`^kv\\t${3000 + effects}\\t[0-9a-f]{64}$`, "m"));
      expect(await Bun.file(home.configPath).text()).toContain("# kept");
      const again = await home.serve();
      expect(await again.call("node-server_get_database_type", { token })).toEqual({
        success: true,
        data: at === 0 ? other : kind,
      });
      await again.stop();
    }
    const after = await rowsOf(places[2].url);
    // PostgreSQL sorts the members of JSON and has no exponents; everything else is the same to the last digit.
    const env = (rows: typeof before) => String(rows.js_worker?.[0]?.[6]);
    expect(JSON.parse(env(after))).toEqual(JSON.parse(env(before)));
    expect(env(after)).toContain("12345678901234567890");
    for (const rows of [before, after])
      if (rows.js_worker?.[0]) rows.js_worker[0] = rows.js_worker[0].toSpliced(6, 1);
    expect(after).toEqual(before);
    await Promise.all(places.map((place) => place.drop()));
  });

story("a move needs an empty database, a valid URL and another one, and prints no password", async () => {
  await using home = await newHome();
  await home.run(["init"]);
  const place = await newPostgresDatabase();
  const url = new URL(place.url);
  url.password = "verySecret";
  const to = String(url);
  const moved = await home.runProcess(["migrate", "--to", "-"], { stdin: `${to}\n` });
  expect({ code: moved.code, stderr: moved.stderr }).toMatchObject({ code: 0 });
  const again = await home.run(["migrate", "--to", to]);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/is not empty; name a new one/) });
  const wrong = await home.run(["migrate", "--to", to.replace("postgres:", "mysql:")]);
  const same = await home.run(["migrate", "--to", `sqlite://${home.file("data/node.db")}`]);
  const none = await home.run(["migrate"]);
  const away = await home.run(["migrate", "--to", to.replace(/:\d+\//, ":1/")]);
  expect([wrong.code, same.code, none.code, away.code]).toEqual([2, 2, 2, 1]);
  expect(same.stderr).toContain("is already the configured database");
  expect(JSON.stringify([moved, again, wrong, same, none, away])).not.toContain("verySecret");
  expect(moved.stderr).toContain(`Now write the URL of --to as database_url into ${home.configPath}`);
  await place.drop();
});

story("a relative path of --to starts at the working directory, and is shown as what to write", async () => {
  await using home = await newHome();
  await home.run(["init"]);
  await using elsewhere = await Home.open();
  const args = ["-c", home.configPath, "migrate", "--to", "sqlite://new%20one/node.db?mode=rwc"];
  const moved = await home.run(args, { cwd: elsewhere.path });
  expect({ code: moved.code, stderr: moved.stderr }).toMatchObject({ code: 0 });
  const [, url = ""] = /Now write database_url = "(.*)" into /.exec(moved.stderr) ?? [];
  expect(url).toBe(`sqlite://${elsewhere.path}/new%20one/node.db?mode=rwc`);
  await home.configure({}, url);
  expect((await home.run(["check", "--connect"])).stdout).toContain(
    `The database ${elsewhere.file("new one/node.db")} can be used.`,
  );
});

eachDatabase(
  "the copy of a server's folder can move while the original runs, or is told how",
  async (kind) => {
    await using original = await newHome();
    const server = await original.serve();
    await using home = await newHome();
    const database = await newDatabase(kind, home.path);
    await home.configure({}, database.url);
    await home.run(["init"]);
    await home.run(["backup", "b.tar.zst"]);
    await home.configure({ top: `ws_listener = "${new URL(server.url).host}"` }, database.url);
    for (const args of [
      ["restore", "b.tar.zst", "--yes"],
      ["migrate", "--to", "sqlite://new.db"],
    ]) {
      const { code, stderr } = await home.run(args);
      if (kind === "sqlite") expect({ code, stderr }).toMatchObject({ code: 0 });
      else
        expect(stderr).toMatch(
          /runs at http\S+, the address of this configuration; stop it first\. If .*, change ws_listener in \/.*config\.toml/,
        );
    }
    await database.drop();
  },
);
