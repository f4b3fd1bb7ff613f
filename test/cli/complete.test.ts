import { expect } from "bun:test";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { loggedIn, User } from "../support/cli.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { testNode } from "../support/node.ts";
import { story } from "../support/process.ts";
import { program } from "../support/program.ts";
import { storedFiles } from "../support/stored-site.ts";
import { leftToAll } from "../support/tier.ts";

const further = leftToAll(story);

/** A real bash that has read the script, asked for what may stand in place of the last word. */
async function bash(user: User, ...typed: string[]): Promise<string[]> {
  const ask = `source <(node-server completion bash) || exit 9
COMP_WORDS=(node-server "$@"); COMP_CWORD=$#
compopt() { :; }
_node_server; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = Bun.spawn(["bash", "--norc", "-c", ask, "bash", ...typed], {
    cwd: user.file("."),
    env: { HOME: user.file("."), PATH: `${user.file("bin")}:${process.env.PATH}` },
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([run.stdout.text(), run.stderr.text(), run.exited]);
  expect({ err, code }).toEqual({ err: "", code: 0 });
  return out.split("\n").filter((line) => line !== "");
}

async function install(user: User): Promise<void> {
  await mkdir(user.file("bin"));
  const words = program.map((word) => `'${word}'`).join(" ");
  await writeFile(user.file("bin/node-server"), `#!/bin/sh\nexec ${words} "$@"\n`);
  await chmod(user.file("bin/node-server"), 0o755);
}

story("the words that may come next are commands, options, methods, params and servers", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  const of = (...typed: string[]) => offers(user, typed);
  expect(await of("log")).toEqual(["login", "logout", "logs"]);
  const commands = await of("");
  expect(commands).toEqual(expect.arrayContaining(["serve", "call", "sql", "servers", "help"]));
  expect(commands).not.toContain("complete");
  expect(commands).not.toContain("sql-child");
  expect(await of("sql", "--")).toEqual(
    expect.arrayContaining(["--csv", "--file", "--server", "--config", "--help"]),
  );
  expect(await of("call", "static-bucket_rea")).toEqual(["static-bucket_read"]);
  expect(await of("call", "static-bucket_create", "n")).toEqual(["name="]);
  expect(await of("call", "-s", "")).toEqual(["here"]);
  expect(await of("logs", "--server", "h")).toEqual(["here"]);
  expect(await of("logs", "--server=h")).toEqual(["--server=here"]);
  expect(await of("-c", "other.toml", "servers", "")).toEqual(["list", "use"]);
  expect(await of("servers", "use", "")).toEqual(["here"]);
  expect(await of("completion", "")).toEqual(["bash", "zsh", "fish"]);
  expect(await of("sql", "--file", "")).toEqual([]);
});

/** The words that the program offers in place of the last one. */
async function offers(user: User, typed: readonly string[], env?: Record<string, string>): Promise<string[]> {
  // A busy machine is no slow server.
  const found = await user.does(["complete", "--", ...typed], { env: { ...env }, clock: new ManualClock() });
  return found
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.replace(/\t.*/, ""));
}

story(
  "names that the server knows are offered: buckets, paths, deploys and tokens, never a secret",
  async () => {
    await using scene = await loggedIn();
    const { node, user } = scene;
    for (const name of ["site", "sink"]) await node.call("static-bucket_create", [node.superToken, name]);
    await storedFiles(node, "site").write({
      "images/my logo.svg": "logo",
      "images/b.png": "b",
      "index.html": "i",
    });
    const reader = await node.newToken([
      {
        scopes: [{ static_bucket: "site" }],
        permissions: [{ static_bucket_file: "read" }, { static_bucket_file: "list" }],
      },
    ]);
    const of = (...typed: string[]) => offers(user, typed);
    expect(await of("rollback", "si")).toEqual(["sink", "site"]);
    expect(await of("buckets", "show", "sit")).toEqual(["site"]);
    expect(await of("buckets", "create", "")).toEqual([]);
    expect(await of("deploy", "./dist", "sit")).toEqual(["site"]);
    expect(await of("deploy", "sit")).toEqual([]);
    expect(await of("tokens", "create", "--webdav", "sin")).toEqual(["sink"]);
    expect(await of("tokens", "create", "--bucket=sin")).toEqual(["--bucket=sink"]);
    expect(await of("ls", "sit")).toEqual(["site/"]);
    expect(await of("cat", "site/index.html", "site/ima")).toEqual(["site/images/"]);
    expect(await of("cp", "site/images/")).toEqual(["site/images/b.png", "site/images/my logo.svg"]);
    expect(await of("cp", "./ima")).toEqual([]);
    expect(await of("cp", "site/../")).toEqual([]);
    expect(await of("tokens", "create", "--node", "read_logs,read_s")).toEqual(["read_logs,read_storage"]);
    expect(await of("tokens", "create", "--allow", "")).toEqual(["read", "write", "delete", "list"]);

    await mkdir(user.file("dist"));
    await writeFile(user.file("dist/page.html"), "page");
    const { deploy } = JSON.parse(
      await user.does(["deploy", "./dist", "site", "--json", "--note", "first"]),
    ) as {
      deploy: string;
    };
    expect(await of("rollback", "site", "")).toContain(deploy);
    expect(await of("deploys", "site", "--publish", "")).toContain(deploy);
    const clock = new ManualClock();
    const listed = await user.does(["complete", "--", "tokens", "roll", ""], { clock });
    const [key = "", secret = ""] = reader.split(":");
    expect(listed).toContain(`${key}\t`);
    for (const one of [secret, node.superToken.split(":")[1] ?? ""]) expect(listed).not.toContain(one);

    // With the token that the command would use, wherever that is named.
    const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: reader };
    expect(await offers(user, ["ls", ""], env)).toEqual(["site/"]);
    expect(await offers(user, ["ls", "site/p"], env)).toEqual(["site/page.html"]);
    expect(await offers(user, ["tokens", "roll", ""], env)).toEqual([]);
    const elsewhere = { NODE_SERVER_URL: "http://127.0.0.1:1", NODE_SERVER_TOKEN: reader };
    expect(await offers(user, ["-s", "here", "ls", "sin"], elsewhere)).toEqual(["sink/"]);
    expect(await offers(user, ["ls", "--server=here", "sin"], elsewhere)).toEqual(["sink/"]);
  },
);

story("completion is silent and quick when the server is away, silent or refuses the token", async () => {
  await using node = await testNode();
  await using user = await User.open();
  // A listener that accepts connections and never answers.
  const mute = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  try {
    const at = (url: string, token = "a:b") => ({ NODE_SERVER_URL: url, NODE_SERVER_TOKEN: token });
    const places = [at("http://127.0.0.1:1"), at(`http://127.0.0.1:${mute.port}`), at(node.url), {}];
    for (const env of places)
      for (const word of ["", "site/"])
        expect(await user.run(["complete", "--", "ls", word], { env })).toMatchObject({
          code: 0,
          stdout: "",
          stderr: "",
        });
  } finally {
    mute.stop(true);
  }
});

story("bash offers what the program offers, for the words that were typed", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  await install(user);
  expect(await bash(user, "log")).toEqual(["login", "logout", "logs"]);
  expect(await bash(user, "-c", "my other.toml", "servers", "use", "")).toEqual(["here"]);
  expect(await bash(user, "sql", "--file", "")).toEqual([]);
});

further("Tab completes paths of buckets in bash, and quotes them", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  await node.call("static-bucket_create", [node.superToken, "site"]);
  await storedFiles(node, "site").write({
    "images/my logo $(x) *.svg": "the logo",
    "images/an other.png": "the other",
  });
  await install(user);
  const rc = `PATH='${user.file("bin")}':"$PATH"\nPS1='ready> '\nbind 'set enable-bracketed-paste off'\nsource <(node-server completion bash)\n`;
  await writeFile(user.file("rc"), rc);
  await using shell = user.typing(["bash", "--noprofile", "--rcfile", user.file("rc"), "-i"]);
  await shell.shows(/ready> /);
  await shell.type("node-server cat sit\tima\tmy\\ lo\t");
  await shell.shows(/\.svg /);
  await shell.type("\r");
  await shell.shows(/the logo/);
  await shell.type('node-server cat "site/images/an o\t');
  await shell.shows(/other\.png" /);
  await shell.type("\r");
  await shell.shows(/the other/);
  await shell.type("exit\r");
  expect(await shell.ends()).toBe(0);
});

further("Tab completes a method's name in an interactive bash", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  await install(user);
  await writeFile(
    user.file("rc"),
    `PATH='${user.file("bin")}':"$PATH"\nPS1='ready> '\nsource <(node-server completion bash)\n`,
  );
  await using shell = user.typing(["bash", "--noprofile", "--rcfile", user.file("rc"), "-i"]);
  await shell.shows(/ready> /);
  await shell.type("node-server call node-server_hel\t");
  await shell.shows(/node-server_hello /);
  await shell.type("\r");
  await shell.shows(/Node Server Is Running!/);
  await shell.type("exit\r");
  expect(await shell.ends()).toBe(0);
});

story("there are scripts for bash, zsh and fish, and for no other shell", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  for (const shell of ["bash", "zsh", "fish"])
    expect(await user.does(["completion", shell])).toMatch(/complete -- .*\n/);
  expect(await user.run(["completion", "tcsh"])).toMatchObject({ code: 2, stdout: "" });
});
