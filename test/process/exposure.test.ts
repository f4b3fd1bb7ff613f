import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { chmod, chown, readFile, rename, writeFile } from "node:fs/promises";
import { newPostgresDatabase } from "../support/postgres.ts";
import { newHome, story } from "../support/process.ts";
import { boundByModes } from "../support/tools.ts";

story("a restored SQLite copy that everybody can read is warned of by check and serve", async () => {
  await using home = await newHome();
  await home.run(["init"]);
  const before = await home.run(["check"]);
  expect([before.code, before.stderr]).toEqual([0, ""]);
  const file = home.file("data/node.db");
  const server = await home.serve();
  expect(server.stderr).not.toContain("WARN");
  await server.stop();
  const original = new Database(file);
  original.run("VACUUM INTO ?", [home.file("copy.db")]);
  original.close();
  await rename(home.file("copy.db"), file);
  // As it is under the usual umask.
  await chmod(file, 0o644);
  const why = `names ${file}, which holds hashes of secrets and can be read by every user of this machine; run \`chmod 600 ${file}\``;
  expect(await home.run(["check"])).toMatchObject({
    code: 0,
    stderr: `warning: config.toml:6:16: database.database_url: ${why}\n`,
  });
  const restored = await home.serve();
  await restored.says(/ WARN server: .*\n/);
  expect(restored.stderr).toContain(` WARN server: configuration key database.database_url ${why} `);
});

story("a configuration with a database password that everybody can read is warned of", async () => {
  const database = await newPostgresDatabase();
  await using home = await newHome({}, database.url.replace("postgres@", "postgres:hunter2@"));
  expect((await home.run(["check"])).stderr).toBe("");
  await chmod(home.configPath, 0o644);
  const { code, stderr } = await home.run(["check"]);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `warning: config.toml:6:16: database.database_url: holds a password, and ${home.configPath} can be read by every user of this machine; run \`chmod 600 ${home.configPath}\`\n`,
  });
  // The password of the environment is in no file.
  const inEnvironment = home.file("other.toml");
  await writeFile(
    inEnvironment,
    (await readFile(home.configPath, "utf8")).replace(/postgres:[^"]+/, "sqlite://node.db"),
  );
  await chmod(inEnvironment, 0o644);
  const env = { NODE_SERVER_DATABASE_URL: database.url.replace("postgres@", "postgres:hunter2@") };
  expect(await home.run(["check", "-c", inEnvironment], { env })).toMatchObject({ code: 0, stderr: "" });
  await database.drop();
});

story("files of the server where a bucket would show them are warned of by check and serve", async () => {
  await using home = await newHome({
    top: 'backup_dir = "static/site/backup"\n',
    logging: 'json_log_file = "static/~node.json"\naccess_log = "static/site/access.log"\n',
  });
  const { code, stderr } = await home.run(["check"]);
  expect(code).toBe(0);
  const keys = [
    ...stderr.matchAll(/^warning: config\.toml:\d+:\d+: (\S+): names (\S+) inside of static_path/gm),
  ];
  expect(keys.map(([, key, path]) => [key, path]).sort()).toEqual([
    ["backup_dir", home.file("static/site/backup")],
    ["logging.access_log", home.file("static/site/access.log")],
  ]);
  const server = await home.serve();
  await server.says(/ WARN server: configuration key backup_dir names .* inside of static_path.*\n/);
});

story("a configuration and a database below static_path are warned of", async () => {
  await using home = await newHome({ top: 'static_path = ".."\n' });
  const { stderr } = await home.run(["check"]);
  expect(stderr).toMatch(/: static_path: contains the configuration file \(.*config\.toml\)/);
  expect(stderr).toMatch(/: database\.database_url: names .*node\.db inside of static_path/);
  expect(stderr).toMatch(/: link_key_file: names .*config\.link-key inside of static_path/);
});

story("a link key that everybody can read is warned of by check and serve", async () => {
  await using home = await newHome();
  const first = await home.serve();
  expect(first.stderr).not.toContain("WARN");
  await first.stop();
  const key = home.file("config.link-key");
  await chmod(key, 0o644);
  const why = `is the secret in ${key}, which can be read by every user of this machine; run \`chmod 600 ${key}\``;
  const { code, stderr } = await home.run(["check"]);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^warning: config\.toml:.*: link_key_file: /)]);
  expect(stderr).toEndWith(`${why}\n`);
  const server = await home.serve();
  await server.says(/ WARN server: .*\n/);
  expect(server.stderr).toContain(` WARN server: configuration key link_key_file ${why} `);
});

story("a link key that this user cannot read is found by check, as by a start", async () => {
  const how = boundByModes();
  if (how === undefined) return;
  await using home = await newHome();
  await home.run(["init"]);
  const key = home.file("config.link-key");
  if (process.getuid?.() === 0) await chown(key, 65_534, 65_534);
  await chmod(key, 0o000);
  for (const args of [["check"], ["serve"]]) {
    const { code, stderr } = await home.run(args, how);
    expect([args, code, stderr]).toEqual([
      args,
      1,
      expect.stringMatching(
        /link_key_file: the link key \S+\/config\.link-key cannot be read: it belongs to \w+ with mode 0000, and this runs as \w+; (run this as \w+ \(`sudo -u \w+`\), or )?run `ch(own \w+|mod u\+r) \S+\/config\.link-key`/,
      ),
    ]);
  }
});
