import { dirname } from "node:path";
import { Glob } from "bun";

// Prints the sizes of the server's code, by which a reader can tell whether it grows or shrinks: `bun scripts/count.ts [module …]`. Without
// arguments it counts what runs on a server: everything in src/ but console, cli and client. It reads the layout that biome writes: a
// declaration ends at the first line with a bracket at its own indentation.

const front = ["console", "cli", "client"];
const shortLines = 60;
const longFunctionLines = 60;
const manyMethods = 15;

interface SourceFile {
  readonly path: string;
  readonly lines: readonly string[];
}

const named = process.argv.slice(2);
const files = (await Array.fromAsync(new Glob("**/*.{ts,tsx}").scan("src"))).sort();
const chosen = files.filter((path) => {
  const module = path.split("/", 1)[0] ?? "";
  return named.length > 0 ? named.includes(module) : !front.includes(module);
});
const sources: SourceFile[] = await Promise.all(
  chosen.map(async (path) => ({ path, lines: (await Bun.file(`src/${path}`).text()).trimEnd().split("\n") })),
);

const folders = Object.entries(Object.groupBy(chosen, (path) => dirname(path)))
  .map(([folder, { length } = []]) => ({ folder, count: length ?? 0 }))
  .sort((a, b) => b.count - a.count);
const functions = sources.flatMap(functionsOf).filter(({ length }) => length > longFunctionLines);
const classes = sources.flatMap(classesOf).filter(({ methods }) => methods > manyMethods);

const rows: readonly (readonly [string, number | string])[] = [
  ["lines", sources.reduce((sum, { lines }) => sum + lines.length, 0)],
  ["files", sources.length],
  [`files under ${shortLines} lines`, sources.filter(({ lines }) => lines.length < shortLines).length],
  ["largest folder", `${folders[0]?.folder} (${folders[0]?.count})`],
  ["folders above 20 files", folders.filter(({ count }) => count > 20).length],
  [`functions over ${longFunctionLines} lines`, functions.length],
  [`classes over ${manyMethods} methods`, classes.length],
  ["caches (classes, and maps that outlive a call)", matches(/\bclass \w*(?:Cache|Recent|Heads)\w*/)],
  ["timers (every, sleep and setTimeout)", matches(/\bclock\.(?:every|sleep)\(|\bset(?:Timeout|Interval)\(/)],
];
for (const [what, count] of rows) console.log(`${String(count).padStart(32)}  ${what}`);
for (const { name, path, length } of functions.sort((a, b) => b.length - a.length))
  console.log(`${String(length).padStart(32)}  lines: ${name} in ${path}`);
for (const { name, path, methods } of classes.sort((a, b) => b.methods - a.methods))
  console.log(`${String(methods).padStart(32)}  methods: ${name} in ${path}`);

function matches(pattern: RegExp): number {
  return sources.reduce((sum, { lines }) => sum + lines.filter((line) => pattern.test(line)).length, 0);
}

/** functionsOf finds functions and methods that have a name, with the number of their lines. */
function functionsOf({ path, lines }: SourceFile) {
  const head =
    /^( *)(?:export )?(?:async )?(?:function\*? (\w+)|(?:static |async |get |set |\*)*(#?\w+)(?:<.*>)?\()/;
  return lines.flatMap((line, at) => {
    const [, indent = "", declared, method] = head.exec(line) ?? [];
    const isMethod =
      method !== undefined && indent === "  " && !/^(if|for|while|switch|return)$/.test(method);
    if (declared === undefined && !isMethod) return [];
    const end = blockEnd(lines, at, indent);
    return end === undefined ? [] : [{ path, name: declared ?? method ?? "", length: end - at + 1 }];
  });
}

/** classesOf finds classes with the number of their methods, private ones and accessors included. */
function classesOf({ path, lines }: SourceFile) {
  return lines.flatMap((line, at) => {
    const [, name] = /^(?:export )?(?:abstract )?class (\w+)/.exec(line) ?? [];
    if (name === undefined) return [];
    const body = lines.slice(at + 1, blockEnd(lines, at, ""));
    const method = /^ {2}(?:static |async |override |get |set |\*)*#?\w+(?:<.*>)?\(/;
    return [{ path, name, methods: body.filter((own) => method.test(own)).length }];
  });
}

/** blockEnd is the line that closes the block which begins at `at`; undefined for a declaration without a body. */
function blockEnd(lines: readonly string[], at: number, indent: string): number | undefined {
  for (let line = at; line < lines.length; line += 1) {
    const text = lines[line] ?? "";
    if (line > at && text === `${indent}}`) return line;
    if (line === at && text.endsWith("}")) return line;
    if (text.startsWith(indent) && text.endsWith(";") && !text.startsWith(`${indent} `) && line > at)
      return undefined;
    if (line === at && text.endsWith(";")) return undefined;
  }
  return undefined;
}
