import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { ownTriple } from "../../scripts/compile.ts";
import { parsePublicKeys, verifyMinisign } from "../../src/base/minisign.ts";
import { binaryName } from "../../src/update/release.ts";
import { ReleaseServer } from "../../src/update/release-server.ts";
import { tempFolder } from "../support/node.ts";
import { findTool, openTool } from "../support/tools.ts";

const root = resolve(import.meta.dir, "../..");
const temp = await tempFolder();
const out = join(temp.path, "release");
const name = binaryName(ownTriple());
const tag = "v4.5.6";
const texts = ["node-server.1", "node-server.bash", "node-server.zsh", "node-server.fish"];

async function script(file: string, ...args: string[]) {
  const child = Bun.spawn([process.execPath, `scripts/${file}`, ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: temp.path },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: 280_000,
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

let told = "";
/** One release for all stories: its compression alone takes most of a minute. */
beforeAll(async () => {
  const keys = await script("release-key.ts", join(temp.path, "release"));
  if (keys.code !== 0) throw new Error(keys.stderr);
  const made = await script(
    "release.ts",
    ...[
      "--level",
      "1",
      "--only",
      ownTriple(),
      "--version",
      "4.5.6",
      "--key",
      join(temp.path, "release.key"),
      "--out",
      out,
    ],
  );
  if (made.code !== 0) throw new Error(made.stdout + made.stderr);
  told = keys.stdout + made.stdout;
  // The server is compiled for every system.
}, 300_000);
afterAll(() => temp[Symbol.asyncDispose]());

const at = (file: string) => join(out, file);

test("a release is its binary, the packed forms, the signature, the sums and the tag, and nothing else", async () => {
  expect((await readdir(out)).sort()).toEqual(
    ["SHA256SUMS", "TAG", name, `${name}.gz`, `${name}.minisig`, `${name}.zst`, ...texts].sort(),
  );
  expect(await readFile(at("TAG"), "utf8")).toBe("v4.5.6\n");
  expect(told).toContain(`${tag}, 10 files, signed`);
});

test("the binary runs, and says which version and system it is for", async () => {
  await using program = await openTool(at(name));
  const record = JSON.parse(await program.does(["version", "--json"])) as Record<string, unknown>;
  expect(record).toMatchObject({
    binary_type: "node-server",
    cargo_version: "4.5.6",
    cargo_target_triple: ownTriple(),
  });
  expect((await stat(at(name))).mode & 0o777).toBe(0o755);
});

test("the manual page and the completion scripts are those that the binary prints", async () => {
  await using program = await openTool(at(name));
  expect(await readFile(at("node-server.1"), "utf8")).toBe(await program.does(["man"]));
  for (const shell of ["bash", "zsh", "fish"])
    expect(await readFile(at(`node-server.${shell}`), "utf8")).toBe(
      await program.does(["completion", shell]),
    );
});

test("the packed forms unpack to the binary, and are smaller", async () => {
  const binary = await readFile(at(name));
  for (const [file, unpack] of [
    [`${name}.gz`, gunzipSync],
    [`${name}.zst`, Bun.zstdDecompressSync],
  ] as const) {
    const packed = await readFile(at(file));
    expect([file, Buffer.from(unpack(packed)).equals(binary)]).toEqual([file, true]);
    expect(packed.length).toBeLessThan(binary.length * 0.6);
  }
});

test("the sums are those of every file for download, in the form that sha256sum checks", async () => {
  const lines = (await readFile(at("SHA256SUMS"), "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => line.slice(66))).toEqual([name, `${name}.gz`, `${name}.zst`, ...texts]);
  for (const line of lines) {
    const sum = createHash("sha256")
      .update(await readFile(at(line.slice(66))))
      .digest("hex");
    expect(line.slice(0, 66)).toBe(`${sum}  `);
  }
  await using sha256sum = await findTool("the check of the sums", "sha256sum", "coreutils");
  if (sha256sum === undefined) return;
  // It looks for the files where it runs.
  await using shell = await openTool("/bin/sh");
  const checked = await shell.does(["-c", `cd "$1" && exec sha256sum --strict -c SHA256SUMS`, "sh", out]);
  expect(checked).toBe([name, `${name}.gz`, `${name}.zst`, ...texts].map((file) => `${file}: OK\n`).join(""));
});

test("the signature is valid for this file in this version, for the server and for minisign", async () => {
  const publicKey = await readFile(join(temp.path, "release.pub"), "utf8");
  const signature = await readFile(at(`${name}.minisig`), "utf8");
  const digest = createHash("blake2b512")
    .update(await readFile(at(name)))
    .digest();
  const words = verifyMinisign(signature, digest, parsePublicKeys(publicKey));
  expect([words.get("file"), words.get("version")]).toEqual([name, tag]);
  await using minisign = await findTool("the check of a release's signature", "minisign");
  if (minisign === undefined) return;
  const checked = await minisign.does(["-V", "-p", join(temp.path, "release.pub"), "-m", at(name)]);
  expect(checked).toContain(`file:${name}\tversion:${tag}`);
});

test("the key pair is ready for use: the secret for its owner alone, the public one as a line of config.toml", async () => {
  expect((await stat(join(temp.path, "release.key"))).mode & 0o777).toBe(0o600);
  const line = /release_public_key = "([^"]+)"/.exec(told)?.[1] ?? "";
  expect(await readFile(join(temp.path, "release.pub"), "utf8")).toContain(`\n${line}\n`);
  expect(parsePublicKeys(line)).toHaveLength(1);
  // A key in use is never written over.
  const before = await readFile(join(temp.path, "release.key"), "utf8");
  expect((await script("release-key.ts", join(temp.path, "release"))).code).not.toBe(0);
  expect(await readFile(join(temp.path, "release.key"), "utf8")).toBe(before);
});

test("the folder can be served to servers as it is", async () => {
  const releases = new ReleaseServer(out);
  const ask = (path: string) => releases.answer(new Request(`http://here/${path}`));
  expect(await (await ask("latest")).text()).toBe("v4.5.6\n");
  for (const file of [name, `${name}.minisig`, "SHA256SUMS", "node-server.1"])
    expect([file, (await ask(`${file}?tag=${tag}`)).status]).toEqual([file, 200]);
});

/** A folder with something in it that a wrong command must not cost. */
async function keptFolder(): Promise<string> {
  const kept = join(temp.path, "kept");
  await mkdir(kept, { recursive: true });
  await writeFile(join(kept, "precious"), "x");
  return kept;
}

test("a key that is none is told before anything is done", async () => {
  const [kept, key] = [await keptFolder(), join(temp.path, "no.key")];
  await writeFile(key, "garbage\n");
  const { code, stderr } = await script(
    "release.ts",
    "--level",
    "1",
    "--only",
    ownTriple(),
    "--key",
    key,
    "--out",
    kept,
  );
  expect([code, stderr]).toEqual([2, expect.stringContaining("is no minisign secret key")]);
  expect(await readdir(kept)).toEqual(["precious"]);
});

test("a target that is none is told before anything is done", async () => {
  const kept = await keptFolder();
  const { code, stderr } = await script(
    "release.ts",
    "--level",
    "1",
    "--only",
    "pdp11-dec-unix",
    "--out",
    kept,
  );
  expect([code, stderr]).toEqual([2, expect.stringContaining("no target is called pdp11-dec-unix")]);
  expect(await readdir(kept)).toEqual(["precious"]);
});
