import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { type Block, blocksOf } from "./documented.ts";
import { tempFolder } from "./node.ts";
import { program } from "./program.ts";
import { findProgram } from "./tools.ts";
import { until, within } from "./until.ts";

/** Handling is what a block needs beyond being run or parsed. */
export interface Handling {
  /** Why this block cannot be run on a machine of a test. */
  readonly cannotRun?: string;
  /** The test that runs this block in a better way. */
  readonly provenBy?: string;
  /** Variables of its commands. */
  readonly env?: Readonly<Record<string, string>>;
  /** What must be there before it, which the words of the page say. */
  readonly before?: () => Promise<unknown>;
  /** Is handed what its commands printed. */
  readonly after?: (printed: string) => Promise<unknown>;
  /** For a block of TOML: whether the server uses these lines from then on. */
  readonly isApplied?: boolean;
  /** The file of the present folder into which the reader is told to write the block. */
  readonly savedAs?: string;
  /** For a block of text: what the server wrote in its place. */
  readonly shows?: () => Promise<string>;
}

interface PageOptions {
  readonly page: string;
  /** What is written on the page, and what stands for it in this run; each must be used. */
  readonly pairs?: ReadonlyArray<readonly [onPage: string, here: string]>;
  /** Programs that stand in for others, as shell scripts. */
  readonly standIns?: Readonly<Record<string, string>>;
  /** Values that a command prints and a later one takes, such as a version: one group, which differs in each run. */
  readonly learns?: readonly RegExp[];
  readonly env?: Readonly<Record<string, string>>;
  /** The folder of the server whose configuration blocks of TOML belong to. */
  readonly server?: string;
}

/** The commands of a block take as long as the rolling update of a cluster; the story has a limit of its own. */
const maxCommandsMs = 150_000;

/** The folders that belong to the page's machine, which is a folder of the test. */
const machine = /(?<![\w.~-])\/(?=(?:srv|etc|usr\/local|var\/log)\/)/;

/**
 * PageRun runs the code blocks of a page in docs/ in their order, on a machine that is a temporary folder: commands (`sh`, and
 * `console`, with what it shows), TOML by `check`, and configurations of other programs by those. A block that is none of these, and
 * has no handling, fails.
 */
export class PageRun implements AsyncDisposable {
  readonly #options: PageOptions;
  readonly #folder: Awaited<ReturnType<typeof tempFolder>>;
  readonly #pairs: Map<string, string>;
  readonly #usedPairs = new Set<string>();
  /** The groups of processes that commands have started. */
  readonly #groups: number[] = [];
  #cwd: string;
  /** What is typed, line by line, into every command. */
  input = "";

  private constructor(options: PageOptions, folder: Awaited<ReturnType<typeof tempFolder>>) {
    this.#options = options;
    this.#folder = folder;
    this.#pairs = new Map(options.pairs);
    this.#cwd = this.file("home");
  }

  static async open(options: PageOptions): Promise<PageRun> {
    const run = new PageRun(options, await tempFolder());
    const bin = run.file("bin");
    const folders = ["home", "etc", "usr/local/bin", "var/log"].map((name) => run.file(name));
    for (const folder of [bin, ...folders, run.#serverFolder]) await mkdir(folder, { recursive: true });
    const own = `#!/bin/sh\nexec ${program.map((part) => `'${part}'`).join(" ")} "$@"\n`;
    for (const [name, text] of Object.entries({ "node-server": own, ...options.standIns })) {
      await writeFile(join(bin, name), text.replaceAll("$MACHINE", run.#folder.path));
      await chmod(join(bin, name), 0o755);
    }
    return run;
  }

  /** The path of a file of the page's machine. */
  file(path: string): string {
    return join(this.#folder.path, path);
  }

  get #serverFolder(): string {
    return this.file(this.#options.server ?? "srv/node");
  }

  get cwd(): string {
    return this.#cwd;
  }

  set cwd(path: string) {
    this.#cwd = path;
  }

  /** From now on `here` stands for what is `onPage`. */
  learn(onPage: string, here: string): void {
    this.#pairs.set(onPage, here);
  }

  /** Runs all blocks. The keys of `handlings` are parts of the blocks that they belong to. */
  async runBlocks(handlings: Readonly<Record<string, Handling>>): Promise<void> {
    const unused = new Set(Object.keys(handlings));
    for (const block of blocksOf(this.#options.page)) {
      const keys = Object.keys(handlings).filter((key) => block.text.includes(key));
      if (keys.length > 1) throw new Error(`${this.#nameOf(block)} has two handlings: ${keys.join(", ")}`);
      for (const key of keys) unused.delete(key);
      try {
        await this.#runBlock(block, handlings[keys[0] ?? ""] ?? {});
      } catch (error) {
        throw new Error(`${this.#nameOf(block)}: ${error instanceof Error ? error.message : error}`, {
          cause: error,
        });
      }
    }
    expect({ handlings: [...unused], pairs: this.#unusedPairs() }).toEqual({ handlings: [], pairs: [] });
  }

  #nameOf({ line }: Block): string {
    return `docs/${this.#options.page}:${line}`;
  }

  #unusedPairs(): string[] {
    return [...this.#pairs.keys()].filter((onPage) => !this.#usedPairs.has(onPage));
  }

  async #runBlock(block: Block, handling: Handling): Promise<void> {
    const { cannotRun, provenBy, before, after, savedAs } = handling;
    if (cannotRun !== undefined) return;
    if (provenBy !== undefined) {
      // That test reads this page, too.
      const test = readFileSync(resolve(import.meta.dir, "..", provenBy), "utf8");
      if (!test.includes(this.#options.page)) throw new Error(`${provenBy} does not read this page`);
      return;
    }
    await before?.();
    if (savedAs !== undefined) await writeFile(join(this.#cwd, savedAs), this.#here(block.text));
    const printed = await this.#prove(block, handling);
    await after?.(printed);
  }

  async #prove({ language, text }: Block, { env, isApplied, shows }: Handling): Promise<string> {
    if (language === "sh") return this.shell(this.#here(text), env);
    if (language === "console") return this.#runSteps(text, env);
    if (language === "toml") return this.#checkToml(this.#here(text), isApplied ?? false, env);
    if (language === "yaml" && /^scrape_configs:/m.test(text))
      return this.#accepts("promtool", "prometheus", this.#here(text), (path) => ["check", "config", path]);
    if (language === "nginx")
      return this.#accepts("nginx", "nginx-light", inNginx(this.#here(text)), (path) => [
        ...["-t", "-p", this.#folder.path, "-e", "stderr", "-c", path],
      ]);
    if (language === "haproxy")
      return this.#accepts("haproxy", "haproxy", this.#here(text), (path) => ["-c", "-f", path]);
    if (language === "caddy")
      return this.#accepts("caddy", "caddy", this.#here(text), (path) => [
        ...["validate", "--adapter", "caddyfile", "--config", path],
      ]);
    if (shows !== undefined) {
      const written = await shows();
      assertShown(this.#here(text).trimEnd().split("\n"), written);
      return written;
    }
    throw new Error(
      `nobody knows how to prove this block of "${language}"; name a language that is run or parsed, or give it a handling`,
    );
  }

  /** What is written on the page, as it is in this run. In one pass, because a port of this run may contain one of the page. */
  #here(text: string): string {
    const known = [...this.#pairs.keys()].sort((a, b) => b.length - a.length).map(RegExp.escape);
    return text.replace(new RegExp([machine.source, ...known].join("|"), "g"), (onPage) => {
      this.#usedPairs.add(onPage);
      return this.#pairs.get(onPage) ?? `${this.#folder.path}/`;
    });
  }

  /** Runs commands in a shell; returns what they printed. Fails if one of them fails. */
  async shell(script: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const pwd = this.file("cwd");
    const child = Bun.spawn(["sh", "-c", `exec 2>&1\nset -e\n${script}\npwd > '${pwd}'`], {
      cwd: this.#cwd,
      env: {
        HOME: this.file("home"),
        PATH: `${this.file("bin")}${delimiter}${process.env.PATH}:/usr/sbin:/sbin`,
        LANG: "C.UTF-8",
        NO_COLOR: "1",
        ...this.#options.env,
        ...env,
      },
      stdin: Buffer.from(this.input),
      stdout: "pipe",
      detached: true,
    });
    this.#groups.push(child.pid);
    const printed = await within(`these commands end: ${script}`, child.stdout.text(), maxCommandsMs);
    if ((await child.exited) !== 0)
      throw new Error(`${script}\nended with ${child.exitCode} and printed:\n${printed}`);
    this.#cwd = readFileSync(pwd, "utf8").trimEnd();
    return printed;
  }

  /** Runs the commands of a block one by one, and compares what each prints with what is shown below it. */
  async #runSteps(text: string, env?: Readonly<Record<string, string>>): Promise<string> {
    if (!text.startsWith("$ ")) throw new Error("a block of `console` begins with a command after `$ `");
    let all = "";
    for (const step of text.split(/^\$ /m).slice(1)) {
      const [command = "", ...shown] = this.#here(step).trimEnd().split("\n");
      // Elsewhere than on a terminal a list has tabs and no heading.
      const isList = /^ *[A-Z]{3,}(?: {2,}[A-Z ]+)+$/.test(shown[0] ?? "");
      const printed = await this.shell(isList ? `script -qec "${command}" /dev/null` : command, env);
      all += printed;
      this.#learnFrom(step, printed);
      assertShown(shown, printed, command);
    }
    return all;
  }

  #learnFrom(onPage: string, here: string): void {
    for (const pattern of this.#options.learns ?? []) {
      const [from, to] = [pattern.exec(onPage)?.[1], pattern.exec(here)?.[1]];
      if (from !== undefined && to !== undefined && !this.#pairs.has(from)) this.learn(from, to);
    }
  }

  /** Adds the lines to the server's configuration and has `check` read it. */
  async #checkToml(lines: string, isApplied: boolean, env?: Handling["env"]): Promise<string> {
    const path = join(this.#serverFolder, "config.toml");
    const text = withLines(await readFile(path, "utf8"), lines);
    const beside = join(this.#serverFolder, isApplied ? "config.toml" : "documented.toml");
    await writeFile(beside, text, { mode: 0o600 });
    const printed = await this.shell(`node-server check -c '${beside}'`, env);
    if (printed.includes("warning:")) throw new Error(`\`check\` warns:\n${printed}`);
    return printed;
  }

  /** Has a program read its configuration, where it is installed. */
  async #accepts(
    name: string,
    debian: string,
    text: string,
    args: (path: string) => readonly string[],
  ): Promise<string> {
    const found = findProgram(`the configuration of ${name} in docs/${this.#options.page}`, name, debian);
    if (found === undefined) return "";
    const path = this.file(`${name}.conf`);
    await writeFile(path, text);
    return this.shell(`'${found}' ${args(path).join(" ")}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const group of this.#groups) endGroup(group);
    await until("the processes of the page have ended", () => !this.#groups.some(isAlive));
    await this.#folder[Symbol.asyncDispose]();
  }
}

/** A file for nginx with these lines in its `http` block. */
function inNginx(lines: string): string {
  return `pid nginx.pid; error_log stderr; events {}\nhttp {\naccess_log off;\n${lines}}\n`;
}

/** A configuration with lines in it as a person would write them: in their table, in place of those with the same keys. */
function withLines(config: string, lines: string): string {
  // An empty line, because a split has nothing before a table that comes first.
  const [top = "", ...tables] = `\n${lines}`.split(/^(?=\[)/m);
  return tables.reduce(
    (text, table) => {
      const [, name = "", body = ""] = /^\[(\w+)\].*\n([\s\S]*)/.exec(table) ?? [];
      const [before = text, after] = text.split(`\n[${name}]\n`);
      if (after === undefined) return `${text}\n${table}`;
      const [own = "", ...others] = after.split(/^(?=\[)/m);
      return `${before}\n[${name}]\n${body}${without(own, keysOf(body))}${others.join("")}`;
    },
    config.replace(/^[\s\S]*?(?=^\[)/m, (own) => `${without(own, keysOf(top))}\n${top}\n`),
  );
}

function keysOf(lines: string): readonly string[] {
  return [...lines.matchAll(/^(\w+) =/gm)].map(([, key = ""]) => key);
}

function without(lines: string, keys: readonly string[]): string {
  return keys.reduce((rest, key) => rest.replace(new RegExp(`^${key} = .*\n`, "m"), ""), lines);
}

/** Compares line by line, in their order, without what differs from one run to another. `…` stands for anything. */
function assertShown(shown: readonly string[], printed: string, what = ""): void {
  let rest: readonly string[] = printed.split("\n").map(shapeOf);
  for (const line of shown) {
    const words = shapeOf(line).split("…").map(RegExp.escape);
    const at = rest.findIndex((own) => new RegExp(`^${words.join(".*")}$`).test(own));
    if (at < 0) throw new Error(`${what}\nshows on the page: ${line}\nand printed here:\n${printed}`);
    // A line of its own that says only `…` stands for any lines.
    rest = line === "…" ? rest : rest.slice(at + 1);
  }
}

function shapeOf(line: string): string {
  return (
    line
      .replace(/\r/g, "")
      // Of several nodes, any may have answered.
      .replace(/^\*/, "")
      .replace(/\s+/g, " ")
      .replace(/\b[0-9a-f]{8}-(?:…|(?:[0-9a-f]{4}-){3}[0-9a-f]{12})/g, "UUID")
      .replace(/\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b/g, "Month")
      .replace(/\d+(?:[.,]\d+)*(?: [kMG]?B\b)?/g, "N")
      .trim()
  );
}

function endGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // All of it has ended.
  }
}

function isAlive(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
}

/** What a page asks of a machine that a test is not: other accounts, and systemd with a unit of the server. */
export const serviceStandIns = {
  sudo: '#!/bin/sh\nwhile [ "$1" = -u ]; do shift 2; done\nexec "$@"\n',
  useradd: "#!/bin/sh\n",
  usermod: "#!/bin/sh\n",
  // Without -o and -g, which need root and the account.
  install: `#!/bin/sh
n=$#
while [ $n -gt 0 ]; do
  case "$1" in
    -o|-g) shift 2; n=$((n-2));;
    *) set -- "$@" "$1"; shift; n=$((n-1));;
  esac
done
exec ${Bun.which("install")} "$@"
`,
  systemctl: `#!/bin/sh
cd $MACHINE/srv/node
case "$1" in
  reload) kill -HUP "$(cat ../pid)";;
  edit) ;;
  stop|restart)
    kill "$(cat ../pid)"; while kill -0 "$(cat ../pid)" 2>/dev/null; do sleep 0.02; done;;
esac
case "$1" in
  start|restart)
    : > ../journal
    node-server serve -c $MACHINE/srv/node/config.toml >> ../journal 2>&1 & echo $! > ../pid
    until grep -q 'listening on' ../journal; do kill -0 "$(cat ../pid)" || { cat ../journal; exit 1; }; sleep 0.02; done;;
esac
`,
} as const;

/** `node-server` for a machine without systemd: `service install` writes the unit, and the stand-in for systemd starts it. */
export function serviceProgram(binary: string): string {
  return `#!/bin/sh
case "$1 $2" in
  "service install")
    '${binary}' "$@" --no-start --dir $MACHINE/etc/systemd/system && exec systemctl start;;
  *) exec '${binary}' "$@";;
esac
`;
}

/** Starts the server that a page takes for granted, in its /srv/node, and logs in to it. */
export async function startService(page: PageRun, port: number): Promise<void> {
  page.cwd = page.file("srv/node");
  const printed = await page.shell("node-server init -c config.toml && systemctl start");
  page.input = `${/^Super Token: (\S+)$/m.exec(printed)?.[1]}\n`;
  await page.shell(`node-server login http://127.0.0.1:${port}`);
}
