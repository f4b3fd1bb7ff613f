import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { version } from "../package.json";
import { packFastConsole } from "../src/bundle.ts";
import { compile, ownTriple } from "./compile.ts";

/** `dist/node-server` for this machine; another place and another version may be named. */
const [outfile = "dist/node-server", named = version] = process.argv.slice(2);
await mkdir(dirname(outfile), { recursive: true });
await compile({ outfile, version: named, triple: ownTriple(), pack: await packFastConsole() });
console.log(`${outfile}: ${Math.round(Bun.file(outfile).size / 1e6)} MB, version ${named}`);
