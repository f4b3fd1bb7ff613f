import { expect } from "bun:test";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { loggedIn, User } from "../support/cli.ts";
import { testNode } from "../support/node.ts";
import { story } from "../support/process.ts";
import { boundByModes } from "../support/tools.ts";

async function siteWith(files: Readonly<Record<string, string>>) {
  const scene = await loggedIn();
  await scene.user.does(["buckets", "create", "site"]);
  await mkdir(scene.user.file("public"));
  for (const [name, text] of Object.entries(files)) await writeFile(scene.user.file(`public/${name}`), text);
  return scene;
}

story("pull onto a file, or below one, is refused in plain words and makes nothing", async () => {
  await using scene = await siteWith({ "a.txt": "a" });
  const { user } = scene;
  await user.does(["push", "public", "site"]);
  await writeFile(user.file("afile"), "kept");
  for (const target of ["afile", "afile/sub"]) {
    const { code, stdout, stderr } = await user.run(["pull", "site", target]);
    expect({ target, code, stdout, stderr }).toEqual({
      target,
      code: 1,
      stdout: "",
      stderr: `node-server: nothing was pulled: ${user.file("afile")} is a file, not a folder; name another path\n`,
    });
  }
  expect(await Bun.file(user.file("afile")).text()).toBe("kept");
});

story("pull into a folder that cannot be written says whose it is and what to do", async () => {
  const how = boundByModes();
  if (how === undefined) return;
  await using scene = await siteWith({ "a.txt": "a", "b.txt": "b" });
  const { user } = scene;
  await user.does(["push", "public", "site"]);
  await mkdir(user.file("shut"));
  await chmod(user.file("shut"), 0o555);
  const { code, stderr } = await user.runProcess(["pull", "site", "shut"], how);
  expect(code).toBe(1);
  expect(stderr).toStartWith(
    `node-server: nothing was pulled: ${user.file("shut")} cannot be written: it belongs to `,
  );
  expect(stderr).not.toContain("this is a bug");
});

story("push names a file that cannot be read, tells about the rest, and ends with 1", async () => {
  const how = boundByModes();
  if (how === undefined) return;
  await using scene = await siteWith({ "a.css": "a", "b.css": "secret", "index.html": "page" });
  const { user } = scene;
  await chmod(user.file("public/b.css"), 0o000);
  const first = await user.runProcess(["push", "public", "site", "--json"], how);
  expect([first.code, JSON.parse(first.stdout)]).toMatchObject([
    1,
    { uploaded: 1, not_sent: 1, failed: [{ path: "b.css", reason: "not_permitted" }] },
  ]);
  expect(first.stderr).not.toContain("this is a bug");
  // The same where the server has a file of that size already, which is compared by content.
  await chmod(user.file("public/b.css"), 0o644);
  await user.does(["push", "public", "site"]);
  await chmod(user.file("public/b.css"), 0o000);
  const fresh = { ...how, env: { XDG_STATE_HOME: user.file("state") } };
  const again = await user.runProcess(["push", "public", "site", "--json"], fresh);
  expect([again.code, JSON.parse(again.stdout)]).toMatchObject([
    1,
    { failed: [{ path: "b.css", reason: "not_permitted" }] },
  ]);
});

story("login with a home that cannot be written says so before it asks for a token", async () => {
  const how = boundByModes();
  if (how === undefined) return;
  await using node = await testNode();
  await using user = await User.open();
  await mkdir(user.file("home"));
  await chmod(user.file("home"), 0o555);
  const { code, stdout, stderr } = await user.runProcess(["login", node.url], {
    ...how,
    env: { HOME: user.file("home") },
    stdin: node.superToken,
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toStartWith(
    `node-server: the logins in ${user.file("home")}/.config/node-server/servers.json cannot be written: ${user.file("home")}/.config/node-server does not exist, and `,
  );
  expect(stderr).toContain("or set XDG_CONFIG_HOME to a folder of your own");
});

story("a push whose record cannot be kept succeeds with a note", async () => {
  const how = boundByModes();
  if (how === undefined) return;
  await using scene = await siteWith({ "a.txt": "a" });
  const { user } = scene;
  await mkdir(user.file("state"));
  await chmod(user.file("state"), 0o555);
  const { code, stderr } = await user.runProcess(["push", "public", "site"], {
    ...how,
    env: { XDG_STATE_HOME: user.file("state") },
  });
  expect(code).toBe(0);
  expect(stderr).toContain("note: the next run compares by content, because the record cannot be saved: ");
  expect(stderr).toContain("site: 1 file uploaded");
});
