import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { chown, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { Home, newHome, sqliteUrl, story } from "../support/process.ts";
import { until } from "../support/until.ts";

const everyPath = {
  top: 'static_path = "files"\nenable_unix_socket = true\nunix_socket_path = "run/node.sock"',
  logging: 'json_log_file = "logs/node.log"',
};

story("a server finds its files from every folder: relative paths start at its configuration", async () => {
  await using home = await newHome(everyPath);
  await using elsewhere = await Home.open();
  const from = { cwd: elsewhere.path };
  const named = ["-c", home.configPath];
  expect(await home.run([...named, "init"], from)).toMatchObject({ code: 0 });
  expect(await home.run([...named, "check", "--connect"], from)).toMatchObject({ code: 0, stderr: "" });
  expect(await home.run([...named, "get-uuid"], from)).toMatchObject({ code: 0 });
  expect(await home.run([...named, "roll-super-token", "--yes"], from)).toMatchObject({ code: 0 });
  const server = await home.launch(from, ["serve", ...named]).ready();
  expect(server.stderr).toContain(
    `config=${home.configPath} database=${home.file("data/node.db")} static_path=${home.file("files")}\n`,
  );
  for (const path of ["data/node.db", "run/node.sock", "logs/node.log"])
    await until(`${path} exists`, () => existsSync(home.file(path)));
  await server.stop();
  expect(await readdir(elsewhere.path)).toEqual([]);
});

// What lies below the working directory is looked for below that of the process, so these commands get a process of their own.

/** A configuration in `etc`, and a database that was made where the working directory is, as earlier versions did. */
async function homeFromBefore() {
  const home = await newHome();
  await home.run(["init"]);
  await mkdir(home.file("etc"));
  for (const name of ["config.toml", "config.uuid"]) await rename(home.file(name), home.file(`etc/${name}`));
  return home;
}

story(
  "a database that exists only below the working directory is refused by every command, with what to write",
  async () => {
    await using home = await homeFromBefore();
    const config = home.file("etc/config.toml");
    const before = await readdir(home.file("etc"));
    for (const args of [
      ["serve"],
      ["init"],
      ["check"],
      ["roll-super-token", "--yes"],
      ["backup", "b.tar.zst"],
      ["restore", "b.tar.zst"],
      ["migrate", "--to", "sqlite://etc/other.db"],
    ]) {
      const { code, stdout, stderr } = await home.runProcess([...args, "-c", config]);
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: "" });
      expect(stderr).toContain(
        `database.database_url: ${home.file("etc/data/node.db")} does not exist, but ${home.file("data/node.db")} does. `,
      );
    }
    expect(await readdir(home.file("etc"))).toEqual(before);
    const { stderr } = await home.runProcess(["check", "-c", config]);
    const [setting = ""] = /database_url = "[^"]*"/.exec(stderr) ?? [];
    const text = await readFile(config, "utf8");
    await writeFile(config, text.replace(`database_url = "${sqliteUrl}"`, setting));
    expect(await home.run(["check", "--connect", "-c", config])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`The database ${home.file("data/node.db")} can be used.\n`),
    });
  },
);

story("files of buckets that exist only below the working directory are warned of at the start", async () => {
  await using home = await newHome();
  await mkdir(home.file("static"));
  await mkdir(home.file("etc"));
  await rename(home.configPath, home.file("etc/config.toml"));
  const args = ["-c", "etc/config.toml"];
  const says = `${home.file("etc/static")} does not exist, but ${home.file("static")} does. `;
  const checked = await home.runProcess(["check", ...args]);
  expect(checked.code).toBe(0);
  expect(checked.stderr).toContain(`warning: etc/config.toml:1:1: static_path: ${says}`);
  const server = await home.launch({}, ["serve", ...args]).ready();
  await server.says(/WARN server: configuration key static_path /);
  expect(server.stderr).toContain(`configuration key static_path ${says}`);
  await server.stop();
});

story(
  "a certificate that exists only below the working directory is an error that names both paths",
  async () => {
    await using home = await newHome({ top: 'tls_cert = "cert.pem"\ntls_key = "key.pem"' });
    await mkdir(home.file("etc"));
    await rename(home.configPath, home.file("etc/config.toml"));
    await writeFile(home.file("cert.pem"), "x");
    const { code, stderr } = await home.runProcess(["check", "-c", "etc/config.toml"]);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `tls_cert: ${home.file("etc/cert.pem")} does not exist, but ${home.file("cert.pem")} does. `,
    );
    expect(stderr).toContain(`write tls_cert = "${home.file("cert.pem")}"\n`);
  },
);

story("a configuration that is named and does not exist is refused; only init writes one", async () => {
  await using home = await Home.open();
  const path = home.file("etc/typo.toml");
  for (const args of [["serve"], ["check"], ["get-uuid"], ["roll-super-token", "--yes"], ["update"]]) {
    const { code, stdout, stderr } = await home.run([...args, "-c", "etc/typo.toml"]);
    expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: "" });
    expect(stderr).toContain(`${path} does not exist; `);
    expect(stderr).toContain("node-server init");
  }
  expect(await readdir(home.path)).toEqual([]);
  expect(await home.run(["serve", "-c", basename(home.configPath)])).toMatchObject({ code: 1 });
  expect(await home.run(["init", "-c", "etc/typo.toml"])).toMatchObject({ code: 0 });
  expect((await readdir(home.file("etc"))).sort()).toEqual([
    "data",
    "typo.link-key",
    "typo.toml",
    "typo.uuid",
  ]);
});

story("serve without -c writes a configuration where there is none, and says where", async () => {
  await using home = await Home.open();
  const server = home.launch({});
  // Another program may have the default port on this machine.
  await server.says(/(INFO server: listening on |cannot listen on )/);
  expect(server.stderr).toStartWith(`node-server: wrote a default configuration to ${home.configPath}\n`);
});

story("a link may lead to a database that does not exist yet, and gives nobody its file", async () => {
  await using home = await newHome();
  await using disk = await Home.open();
  await mkdir(home.file("data"));
  await symlink(disk.file("real.db"), home.file("data/node.db"));
  const uid = process.getuid?.();
  if (uid === 0) await chown(home.file("data"), 65_534, 65_534);
  expect(await home.run(["init"])).toMatchObject({ code: 0 });
  expect((await stat(disk.file("real.db"))).uid).toBe(uid ?? 0);
  await (await home.serve()).stop();
});
