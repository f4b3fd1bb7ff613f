import { expect } from "bun:test";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { loggedIn, type User } from "../support/cli.ts";
import { story } from "../support/process.ts";
import { program } from "../support/program.ts";

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
  const offers = async (...typed: string[]) =>
    (await user.does(["complete", "--", ...typed]))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.replace(/\t.*/, ""));
  expect(await offers("log")).toEqual(["login", "logout", "logs"]);
  const commands = await offers("");
  expect(commands).toEqual(expect.arrayContaining(["serve", "call", "sql", "servers", "help"]));
  expect(commands).not.toContain("complete");
  expect(commands).not.toContain("sql-child");
  expect(await offers("sql", "--")).toEqual(
    expect.arrayContaining(["--csv", "--file", "--server", "--config", "--help"]),
  );
  expect(await offers("call", "static-bucket_rea")).toEqual(["static-bucket_read"]);
  expect(await offers("call", "static-bucket_create", "n")).toEqual(["name="]);
  expect(await offers("call", "-s", "")).toEqual(["here"]);
  expect(await offers("logs", "--server", "h")).toEqual(["here"]);
  expect(await offers("logs", "--server=h")).toEqual(["--server=here"]);
  expect(await offers("-c", "other.toml", "servers", "")).toEqual(["list", "use"]);
  expect(await offers("servers", "use", "")).toEqual(["here"]);
  expect(await offers("completion", "")).toEqual(["bash", "zsh", "fish"]);
  expect(await offers("sql", "--file", "")).toEqual([]);
});

story("bash offers what the program offers, for the words that were typed", async () => {
  await using scene = await loggedIn();
  const { user } = scene;
  await install(user);
  expect(await bash(user, "log")).toEqual(["login", "logout", "logs"]);
  expect(await bash(user, "-c", "my other.toml", "servers", "use", "")).toEqual(["here"]);
  expect(await bash(user, "sql", "--file", "")).toEqual([]);
});

story("Tab completes a method's name in an interactive bash", async () => {
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
