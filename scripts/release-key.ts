import { writeFileSync } from "node:fs";
import { newKeyPair } from "./minisign.ts";

/** A key pair for signing releases; minisign itself reads both files. */
const [name = "release"] = process.argv.slice(2);
const pair = newKeyPair();
writeFileSync(`${name}.key`, pair.secret, { mode: 0o600, flag: "wx" });
writeFileSync(`${name}.pub`, pair.public, { flag: "wx" });
console.log(
  `${name}.key (keep it secret), ${name}.pub; in config.toml: release_public_key = "${pair.public.split("\n")[1]}"`,
);
