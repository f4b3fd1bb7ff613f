import { expect } from "bun:test";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { loggedIn, type Scene, type Terminal, type User } from "../support/cli.ts";
import { story } from "../support/process.ts";
import { program } from "../support/program.ts";
import { storedFiles } from "../support/stored-site.ts";
import { findProgram } from "../support/tools.ts";

const zsh = findProgram("completion in zsh", "zsh");
const fish = findProgram("completion in fish", "fish");

/** A user who has the program in `~/bin`, and two files that look like words of it. */
async function atShell(): Promise<Scene> {
  const scene = await loggedIn();
  const { user } = scene;
  await mkdir(user.file("bin"));
  const words = program.map((word) => `'${word}'`).join(" ");
  await writeFile(user.file("bin/node-server"), `#!/bin/sh\nexec ${words} "$@"\n`);
  await chmod(user.file("bin/node-server"), 0o755);
  await writeFile(user.file("logbook.sql"), "");
  await writeFile(user.file("heap.sql"), "");
  return scene;
}

/** The same, with a bucket that has files. */
async function withSite(): Promise<Scene> {
  const scene = await atShell();
  const { node } = scene;
  await node.call("static-bucket_create", [node.superToken, "site"]);
  await storedFiles(node, "site").write({ "images/my logo.svg": "logo", "images/other.png": "other" });
  return scene;
}

const searched = (user: User) => `${user.file("bin")}:${process.env.PATH}`;

/** What a real fish that has read the script offers behind `line`, sorted, without the meanings. */
async function fishOffers(user: User, line: string): Promise<string[]> {
  const run = Bun.spawn([fish ?? "", "-c", `complete -C ${JSON.stringify(line)}`], {
    cwd: user.file("."),
    env: { HOME: user.file("."), PATH: searched(user) },
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([run.stdout.text(), run.stderr.text(), run.exited]);
  expect({ err, code }).toEqual({ err: "", code: 0 });
  const words = out.split("\n").filter((text) => text !== "");
  return words.map((text) => text.replace(/\t.*/, "")).sort();
}

async function installInFish(user: User): Promise<void> {
  await mkdir(user.file(".config/fish/completions"), { recursive: true });
  const script = await user.does(["completion", "fish"]);
  await writeFile(user.file(".config/fish/completions/node-server.fish"), script);
}

if (fish !== undefined) {
  story("fish offers what the program offers, for the words that were typed", async () => {
    await using scene = await atShell();
    const { user } = scene;
    await installInFish(user);
    const offers = (line: string) => fishOffers(user, line);
    expect(await offers("node-server call static-bucket_create n")).toEqual(["name="]);
    expect(await offers("node-server logs --server=h")).toEqual(["--server=here"]);
    expect(await offers("node-server -c 'my other.toml' servers ")).toEqual(["list", "use"]);
  });

  story("fish offers files where the program has nothing to say, and only there", async () => {
    await using scene = await atShell();
    const { user } = scene;
    await installInFish(user);
    expect(await fishOffers(user, "node-server sql --file log")).toEqual(["logbook.sql"]);
    expect(await fishOffers(user, "~/bin/node-server sql -f h")).toEqual(["heap.sql"]);
    expect(await fishOffers(user, "~/bin/node-server log")).toEqual(["login", "logout", "logs"]);
    expect(await fishOffers(user, "LANG=C node-server servers use ")).toEqual(["here"]);
  });

  story("fish offers paths of buckets, also behind a quoted word", async () => {
    await using scene = await withSite();
    const { user } = scene;
    await installInFish(user);
    expect(await fishOffers(user, "node-server ls si")).toEqual(["site/"]);
    const all = ["site/images/my logo.svg", "site/images/other.png"];
    expect(await fishOffers(user, "node-server cat site/images/")).toEqual(all);
    expect(await fishOffers(user, "node-server cat site/images/my\\ l")).toEqual(all.slice(0, 1));
  });
}

/** A zsh at its prompt, with the script installed by `rc`, which may begin before `compinit`. */
async function zshWith(user: User, rc: readonly string[]): Promise<Terminal> {
  // So that the screen holds words only: nothing bold, nothing marked as pasted.
  const settings = ["PS1='ready> '", "COLUMNS=150", "zle_highlight=(none)", "unset zle_bracketed_paste"];
  await writeFile(user.file(".zshrc"), [...settings, ...rc, ""].join("\n"));
  // Without the machine's own settings, which come before the user's.
  const shell = user.typing([zsh ?? "", "-d", "-i"], { PATH: searched(user), ZDOTDIR: user.file(".") });
  await shell.shows(/ready> /);
  return shell;
}

const sourced = ["autoload -Uz compinit && compinit -u -D", "source <(node-server completion zsh)"];

/** Types a line and Tab, waits for what comes, and drops the line; what was on the screen meanwhile. */
async function tab(shell: Terminal, line: string, expected: RegExp): Promise<string> {
  const from = shell.screen.length;
  await shell.type(`${line}\t`);
  await shell.shows(expected, from);
  const shown = shell.screen.slice(from);
  const until = shell.screen.length;
  // Ctrl+U drops the line; Ctrl+C would fall into a completion that still runs.
  await shell.type("\x15\r");
  await shell.shows(/ready> /, until);
  return shown;
}

async function leave(shell: Terminal): Promise<void> {
  await shell.type("exit\r");
  expect(await shell.ends()).toBe(0);
}

if (zsh !== undefined) {
  story("Tab in zsh offers what the program offers, for the words that were typed", async () => {
    await using scene = await atShell();
    const { user } = scene;
    const shell = await zshWith(user, sourced);
    const listed = await tab(shell, "node-server log", /logs +-- print the log/);
    expect(listed).toMatch(/login +-- save a server/);
    expect(listed).toMatch(/logout +-- remove a saved server/);
    expect(listed).not.toContain("logbook");
    await tab(shell, "node-server call static-bucket_create n", /static-bucket_create name=(?! )/);
    await tab(shell, "node-server logs --server=h", /logs --server=here /);
    await tab(shell, "node-server -c 'my other.toml' servers u", /servers use /);
    await leave(shell);
  });

  story("Tab in zsh offers files where the program has nothing to say", async () => {
    await using scene = await atShell();
    const shell = await zshWith(scene.user, sourced);
    await tab(shell, "node-server sql --file log", /--file logbook\.sql /);
    await tab(shell, "~/bin/node-server sql -f h", /-f heap\.sql /);
    await tab(shell, "~/bin/node-server cal", /node-server call /);
    await leave(shell);
  });

  story("Tab in zsh completes paths of buckets, and quotes them", async () => {
    await using scene = await withSite();
    const shell = await zshWith(scene.user, sourced);
    await tab(shell, "node-server ls si", /ls site\/(?! )/);
    await tab(shell, "node-server cat site/images/o", /site\/images\/other\.png /);
    await tab(shell, "node-server cat site/images/my\\ l", /site\/images\/my\\ logo\.svg /);
    await leave(shell);
  });

  story("as a file of fpath, the zsh script answers the first Tab and every later one", async () => {
    await using scene = await atShell();
    const { user } = scene;
    await mkdir(user.file("functions"));
    await writeFile(user.file("functions/_node-server"), await user.does(["completion", "zsh"]));
    const shell = await zshWith(user, [
      "fpath=(~/functions $fpath)",
      "autoload -Uz compinit && compinit -u -D",
    ]);
    await tab(shell, "node-server call node-server_hel", /node-server_hello /);
    const from = shell.screen.length;
    await shell.type("node-server call node-server_hel\t");
    await shell.shows(/node-server_hello /, from);
    await shell.type("\r");
    await shell.shows(/Node Server Is Running!/, from);
    await leave(shell);
  });
}
