import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { BunPlugin } from "bun";
import { compile, ownTriple } from "../../scripts/compile.ts";
import type { Closing } from "./gated-calls.ts";
import { packedConsole } from "./node.ts";
import { madeOnce } from "./test-run.ts";

const sources = resolve(import.meta.dir, "../../src/").concat("/");
const calls = JSON.stringify(resolve(import.meta.dir, "gated-calls.ts"));

/** Functions of Node that change names or contents on the disk. */
const gatedFunctions: Readonly<Record<string, readonly string[]>> = {
  "node:fs/promises": [
    "rename",
    "link",
    "symlink",
    "unlink",
    "rm",
    "rmdir",
    "mkdir",
    "writeFile",
    "copyFile",
    "truncate",
  ],
  "node:fs": ["renameSync", "linkSync", "unlinkSync", "rmSync", "rmdirSync", "mkdirSync", "writeFileSync"],
};

/** Other places where something becomes lasting: text in a module, and what takes its place. */
const gatedTexts: Readonly<Record<string, readonly [text: string, gated: string]>> = {
  "db/driver.ts": [
    'await connection.run("COMMIT", []);',
    'gate.pass("COMMIT");\nawait connection.run("COMMIT", []);\ngate.pass("committed");',
  ],
  "base/local-fs/folder.ts": [
    "if (!exchangeAtOnce(first, second))",
    'gate.pass("exchange");\nif (!exchangeAtOnce(first, second))',
  ],
};

/** gates changes the modules of the server. Bun asks no plugin about modules of Node, so their names are changed first. */
const gates: BunPlugin = {
  name: "gates",
  setup(build) {
    for (const module of Object.keys(gatedTexts))
      if (!existsSync(join(sources, module))) throw new Error(`there is no ${module} to put a gate into`);
    build.onLoad({ filter: new RegExp(`^${sources}.*\\.ts$`) }, ({ path }) => {
      const source = readFileSync(path, "utf8").replace(
        / from "(node:fs(?:\/promises)?)";$/gm,
        ' from "gated:$1";',
      );
      const [text, gated] = gatedTexts[path.slice(sources.length)] ?? ["", ""];
      if (!source.includes(text)) throw new Error(`${path} has changed: the gate does not find ${text}`);
      const head = text === "" ? "" : `import * as gate from ${calls};\n`;
      return { loader: "ts", contents: head + source.replace(text, gated) };
    });
    build.onResolve({ filter: /^gated:/ }, ({ path }) => ({ path: path.slice(6), namespace: "gated" }));
    build.onLoad({ filter: /.*/, namespace: "gated" }, async ({ path }) => {
      const gated = gatedFunctions[path] ?? [];
      // Each by its name: of a program in pieces, Bun leaves out what `export *` of a module of Node stands for.
      const names = Object.keys((await import(path)) as object).filter((name) => name !== "default");
      const lines = names.map((name) => {
        if (gated.includes(name)) return `export const ${name} = gate.gated("${name}", real.${name});`;
        if (path === "node:fs/promises" && name === "open") return "export const open = gate.openGated;";
        return `export const ${name} = real.${name};`;
      });
      const head = `import * as real from "${path}";\nimport * as gate from ${calls};\n`;
      return { loader: "ts", contents: head + lines.join("\n") };
    });
  },
};

/** gatedProgram returns the binary of version 2.0.0 with gates. */
export function gatedProgram(): Promise<string> {
  return madeOnce("gated-program", async (outfile) =>
    compile({
      outfile,
      version: "2.0.0",
      triple: ownTriple(),
      pack: await packedConsole(),
      plugins: [gates],
    }),
  );
}

/**
 * Gate stands before every call of a process that changes the disk or commits. A story closes it around one operation: once to learn
 * which calls the operation makes, and then once before each of these calls, where the process is killed.
 */
export class Gate {
  #round = 0;

  private constructor(readonly folder: string) {}

  static async open(parent: string): Promise<Gate> {
    return new Gate(await mkdtemp(join(parent, "gate-")));
  }

  /** Of a process that is to have the gate. */
  get env(): Record<string, string> {
    return { NODE_SERVER_TEST_GATE: this.folder };
  }

  /** From now on calls are counted, without those that `except` names; the process is killed before call number `killAt`. */
  close(killAt: number, except: readonly string[] = []): void {
    this.#round += 1;
    const closing: Closing = { round: String(this.#round), killAt, except };
    writeFileSync(join(this.folder, "closed"), JSON.stringify(closing));
  }

  /** Returns the calls that were made while it was closed; the last of them killed the process, if that was to be. */
  open(): string[] {
    rmSync(join(this.folder, "closed"));
    const passed = join(this.folder, `passed-${this.#round}`);
    return existsSync(passed) ? readFileSync(passed, "utf8").split("\n").slice(0, -1) : [];
  }
}
