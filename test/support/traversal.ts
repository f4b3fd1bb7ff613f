import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { siteWith } from "./bucket.ts";
import type { TestNode } from "./node.ts";
import { storedFiles } from "./stored-site.ts";
import { tier } from "./tier.ts";

export const mark = "TOP-SECRET-7351";
/** What stands in every file that is none of the bucket's business, the server's own among them. */
export const secrets = new RegExp(`${mark}|SQLite format 3|database_url|root:[^\\n]*:0:0:`);

/** Where an attacker wants to get: from the bucket's folder, with `/` between the segments. */
export const targets = (node: TestNode) => [
  "../secret.txt",
  "../site-two/secret.txt",
  "../../config.toml",
  "../../data/node.db",
  "x/../../secret.txt",
  "inner/../../site-two/secret.txt",
  `${"../".repeat(12)}etc/passwd`,
  `${"../".repeat(12)}${join(node.folder, "config.toml").slice(1)}`,
  "/etc/passwd",
  join(node.folder, "config.toml"),
];

const hex = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
const each = (pattern: RegExp, by: string | ((found: string) => string)) => (path: string) =>
  path.replace(pattern, (found) => (typeof by === "string" ? by : by(found)));

/** The same place in other words, some of which one server or another has believed. */
export const disguises: ReadonlyArray<(path: string) => string> = [
  (path) => path,
  each(/\./g, "%2e"),
  each(/\./g, "%2E"),
  each(/\.\./g, ".%2e"),
  each(/\//g, "%2f"),
  each(/[./]/g, hex),
  hex,
  (path) => hex(path).replaceAll("%", "%25"),
  each(/[./]/g, (found) => hex(found).replaceAll("%", "%2525")),
  each(/\./g, "%c0%ae"),
  each(/[./]/g, (found) => (found === "." ? "%c0%2e" : "%c0%af")),
  each(/\./g, "%e0%80%ae"),
  each(/\./g, "%f0%80%80%ae"),
  each(/\//g, "%e0%80%af"),
  each(/\./g, "%u002e"),
  each(/\./g, "\uff0e"),
  each(/\//g, "\u2215"),
  each(/\//g, "\\"),
  each(/\//g, "%5c"),
  each(/\//g, "%255c"),
  each(/\.\.\//g, "..\\/"),
  each(/\.\.\//g, "..%5c/"),
  each(/\.\.\//g, "....//"),
  each(/\.\.\//g, "..././"),
  each(/\.\.\//g, ".../"),
  each(/\.\.\//g, "../.../"),
  each(/\.\.\//g, "..;/"),
  each(/\.\.\//g, "..;a=b/"),
  each(/\.\.\//g, "..%3b/"),
  each(/\.\.\//g, "..//"),
  each(/\.\.\//g, "./.././"),
  each(/\.\.\//g, "..%00/"),
  each(/\.\.\//g, "..\0/"),
  each(/\.\.\//g, "..%20/"),
  each(/\.\.\//g, "..%09/"),
  each(/\.\.\//g, "..%0d%0a/"),
  each(/\.\.\//g, "%2e%2e%2f"),
  each(/\.\.\//g, "..%252f"),
  (path) => `${path}%00.txt`,
  (path) => `${path}\0.txt`,
  (path) => `${path}.`,
  (path) => `${path}...`,
  (path) => `${path}::$DATA`,
  (path) => `${path}%20`,
  (path) => `${path}/`,
  (path) => `${path}?x=../`,
  (path) => `${path}#a.txt`,
  (path) => `a.txt/${path}`,
  (path) => `/${path}`,
  (path) => `//${path}`,
  (path) => `%2f${path}`,
  (path) => `./${path}`,
  (path) => `.//${path}`,
  (path) => `C:/${path}`,
  (path) => `c:${path}`,
  (path) => `c%3a%5c${path}`,
  (path) => `\\\\localhost\\c$\\${path}`,
  (path) => `//localhost/${path}`,
  (path) => `\\\\?\\${path}`,
  (path) => `file:///${path}`,
  (path) => `file://${path}`,
  (path) => `~/${path}`,
  (path) => `~root/${path}`,
  (path) => `/proc/self/cwd/${path}`,
  (path) => `/proc/1/cwd/${path}`,
  (path) => `${"a/".repeat(300)}${"../".repeat(300)}${path}`,
  (path) => `${"./".repeat(1000)}${path}`,
  (path) => `${"/".repeat(1000)}${path}`,
];

/** manyRequestsMs is the limit of stories that send all disguises to every place, which are 24,000 requests by WebDAV alone. */
export const manyRequestsMs = tier === "fast" ? undefined : 180_000;

/** How many turns share the disguises in the fast tier. */
const maxShares = 10;

/**
 * disguisesFor returns the disguises for one of several turns, such as each pair of a prefix and a target. In the fast tier the turns
 * share them, so that all of them are tried and every place is asked for in some of them; in the other tiers every turn has all.
 */
export function disguisesFor(turn: number, turns: number): typeof disguises {
  const shares = tier === "fast" ? Math.min(turns, maxShares) : 1;
  return disguises.filter((_, at) => at % shares === turn % shares);
}

/** A bucket `site` that is the HTTP root, among things it must not touch: a secret above it, and a bucket whose name begins as its own. */
export async function besiegedSite(node: TestNode) {
  const site = await siteWith(
    node,
    { "a.txt": "a", "inner/b.txt": "b", "404.html": "own" },
    { is_http_root: true },
  );
  const other = { token: node.superToken, name: "site-two" };
  await node.call("static-bucket_create", other);
  // Closed to the public, so that no address of its own leads to it either.
  await node.call("static-bucket_update", { ...other, enable: false });
  await storedFiles(node, "site-two").write({ "secret.txt": mark });
  for (const path of ["static/secret.txt", "secret.txt", "static/site.txt"]) {
    await mkdir(join(node.folder, path, ".."), { recursive: true });
    await writeFile(join(node.folder, path), mark);
  }
  return site;
}

/** Everything that is not the bucket's, with its content: the other bucket, and what is below the node's folder. The database lives. */
export async function surroundings(node: TestNode): Promise<Record<string, string>> {
  const found: Record<string, string> = { ...(await storedFiles(node, "site-two").contents()) };
  for (const name of readdirSync(node.folder, { recursive: true, encoding: "utf8" }).sort()) {
    const path = join(node.folder, name);
    if (/^(static\/site|blobs)(\/|$)/.test(name) || /^static\/~staging/.test(name)) continue;
    found[name] = !statSync(path).isFile() || name.startsWith("data/") ? "" : readFileSync(path, "latin1");
  }
  return found;
}

/** What comes back for bytes that no well-bred client would send; nothing, when the server waits for more. */
export function sendRaw(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let heard = "";
    const socket = connect(Number(port), hostname, () => socket.write(request));
    socket.setTimeout(30_000, () => socket.destroy());
    socket.on("data", (chunk) => {
      heard += chunk.toString("latin1");
    });
    socket.on("close", () => resolve(heard)).on("error", () => {});
  });
}
