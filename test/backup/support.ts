import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BackupManifest, manifestName } from "../../src/backup/manifest.ts";
import { endOfArchive, padding, readTar, type TarEntry, tarHeader } from "../../src/backup/tar.ts";
import { openSnapshot } from "../../src/db/dump/load-target.ts";
import type { PortableRow } from "../../src/db/dump/portable.ts";
import { isOfNode } from "../../src/db/rows/memory-rows.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";

/** A member of an archive with its whole content. */
export interface WholeMember extends TarEntry {
  readonly bytes: Buffer;
}

export async function readArchive(path: string): Promise<WholeMember[]> {
  const tar = await Bun.zstdDecompress(await readFile(path));
  const members: WholeMember[] = [];
  for await (const { content, ...entry } of readTar(once(tar)))
    members.push({
      ...entry,
      bytes: Buffer.concat(await Array.fromAsync(content(), (part) => Buffer.from(part))),
    });
  return members;
}

/** Writes an archive with these members; its manifest says what they are, unless it is one of them. */
export async function writeArchive(path: string, members: readonly WholeMember[]): Promise<void> {
  const parts = members.flatMap(({ bytes, ...entry }) => [
    tarHeader({ ...entry, size: bytes.length }),
    bytes,
    padding(bytes.length),
  ]);
  await writeFile(path, await Bun.zstdCompress(Buffer.concat([...parts, endOfArchive])));
}

/** The members with a manifest that fits them. */
export function withManifest(members: readonly WholeMember[]): WholeMember[] {
  const own = members.filter(({ name }) => name !== manifestName);
  const old = members.find(({ name }) => name === manifestName);
  const manifest = JSON.parse(old?.bytes.toString() ?? "{}") as BackupManifest;
  const listed = own.map(({ name, bytes }) => ({ name, size: bytes.length, sha256: sha256(bytes) }));
  return [...own, textMember(manifestName, JSON.stringify({ ...manifest, members: listed }))];
}

export function textMember(name: string, text: string): WholeMember {
  const bytes = Buffer.from(text);
  return { name, kind: "file", size: bytes.length, mode: 0o600, modifiedMs: 0, bytes };
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** All rows of a database in the portable form, by table. A server writes the last use of its tokens when it stops, so that is left out. */
export async function rowsOf(url: string): Promise<Record<string, PortableRow[]>> {
  const snapshot = await openSnapshot(settingsFor(url), new LogHub());
  const tables: Record<string, PortableRow[]> = {};
  for (const table of snapshot.tables) {
    const lastUse = table.columns.indexOf("last_used_at");
    const namespace = table.columns.indexOf("namespace");
    // A node that runs writes rows of its own, which no restore brings back, and the audit trail in the background.
    const rows = (await Array.fromAsync(snapshot.rows(table)))
      .flat()
      .filter((row) => !isOfNode(String(row[namespace])) && row[namespace] !== "audit");
    tables[table.name] = rows.map((row) => row.filter((_, at) => at !== lastUse));
  }
  await snapshot.close();
  return tables;
}

/** The paths below a folder, each with its content; links are not followed. */
export async function treeOf(folder: string, prefix = ""): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const [path, name] = [join(folder, entry.name), `${prefix}${entry.name}`];
    if (entry.isFile()) found[name] = sha256(await readFile(path));
    else found[name] = entry.isDirectory() ? "folder" : "link";
    if (entry.isDirectory()) Object.assign(found, await treeOf(path, `${name}/`));
  }
  return found;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
