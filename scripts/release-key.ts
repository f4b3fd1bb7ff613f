import { writeFileSync } from "node:fs";
import { codeOf, messageOf } from "../src/base/fault.ts";
import { newKeyPair } from "./minisign.ts";

/** A key pair for signing releases; minisign itself reads both files. */
const [name] = process.argv.slice(2);
if (name === undefined)
  fail("say where: npm run release:key -- ~/keys/release (writes release.key and release.pub)", 2);
const pair = newKeyPair();
write(`${name}.key`, pair.secret, 0o600);
write(`${name}.pub`, pair.public, 0o644);
console.log(
  `${name}.key (keep it secret), ${name}.pub; in config.toml: release_public_key = "${pair.public.split("\n")[1]}"`,
);

/** Never replaces a file: servers trust the key that they have. */
function write(path: string, text: string, mode: number): void {
  try {
    writeFileSync(path, text, { mode, flag: "wx" });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") fail(`${path} cannot be written: ${messageOf(error)}`, 1);
    fail(`${path} exists already; servers that trust it would refuse a new key, so name another file`, 1);
  }
}

function fail(why: string, code: number): never {
  console.error(why);
  process.exit(code);
}
