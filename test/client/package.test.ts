import { expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { license, version } from "../../package.json";
import { builtPackage } from "./consumer.ts";

const folder = await builtPackage();
const text = (name: string) => Bun.file(join(folder, name)).text();

test("the package holds one module, its types and its words, and depends on nothing", async () => {
  expect((await readdir(folder)).sort()).toEqual([
    "LICENSE",
    "README.md",
    "index.d.ts",
    "index.js",
    "package.json",
  ]);
  const manifest = JSON.parse(await text("package.json"));
  expect(manifest).toMatchObject({
    name: "node-server-client",
    version,
    license,
    type: "module",
    sideEffects: false,
    engines: { node: ">=20" },
    exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
  });
  for (const kind of ["dependencies", "peerDependencies", "optionalDependencies", "private", "scripts"])
    expect(manifest).not.toHaveProperty(kind);
});

test("the module imports nothing, and no bundler finds a module of Node's in it", async () => {
  const code = await text("index.js");
  const { imports } = new Bun.Transpiler({ loader: "js" }).scan(code);
  expect(imports).toEqual([]);
  expect(code).not.toMatch(/\brequire\(/);
  expect(code).not.toMatch(/["'`]node:\w/);
  expect(code).not.toMatch(/\bimport\(/);
  // Readable: names and comments of the source, not one long line.
  expect(code).toContain("class NodeServerClient");
  expect(Math.max(...code.split("\n").map(({ length }) => length))).toBeLessThan(300);
});

test("the types speak of nothing outside the file", async () => {
  const outside = /\bzod\b|^import\b|\bimport\(|\/\/\/ *<|["'`]node:|\bBun\b|\.\.\/|\bsrc\//m;
  expect(outside.exec(await text("index.d.ts"))?.[0]).toBeUndefined();
});

test("what the types export as a value is there when the program runs, and nothing else", async () => {
  const declared = /^export \{ (.*) \};$/m.exec(await text("index.d.ts"))?.[1]?.split(", ") ?? [];
  const there = Object.keys(await import(join(folder, "index.js")));
  expect(declared.length).toBeGreaterThan(10);
  expect(there.sort()).toEqual(declared.sort());
});
