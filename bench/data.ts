import { Database } from "bun:sqlite";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Fills a folder with so many files of 1 KiB, called `0.txt`, `1.txt` and so on. */
export function makeFiles(folder: string, files: number): void {
  mkdirSync(folder, { recursive: true });
  const content = Buffer.alloc(1024, "x");
  for (let n = 0; n < files; n += 1) writeFileSync(join(folder, `${n}.txt`), content);
}

const words =
  "the server answers every call and keeps what it was given until somebody asks for it again".split(" ");

/** Writes a text that compresses about as well as prose does. It repeats itself only after more than a compressor remembers. */
export async function writeText(path: string, bytes: number): Promise<void> {
  const part: string[] = [];
  for (let size = 0; size < 16e6; ) {
    const word = `${words[Math.floor(Math.random() * words.length)]}${Math.floor(Math.random() * 100)}`;
    part.push(word);
    size += word.length + 1;
  }
  const text = Buffer.from(part.join(" "));
  const writer = Bun.file(path).writer();
  for (let written = 0; written < bytes; written += text.length) {
    writer.write(text.subarray(0, bytes - written));
    await writer.flush();
  }
  await writer.end();
}

/** Copies the first row of a table until the table has so many rows. No server may run meanwhile. */
export function growRows(databasePath: string, table: "token" | "static_file", rows: number): void {
  const columns = {
    token: { own: "token_key", copied: "version, token_hash, token_limit" },
    static_file: { own: "name", copied: "path, is_http_root, cors, enable" },
  }[table];
  using file = new Database(databasePath);
  const { present } = file.query(`SELECT count(*) AS present FROM ${table}`).get() as { present: number };
  if (present >= rows) return;
  file.run(
    `INSERT INTO ${table} (${columns.own}, ${columns.copied})
     WITH RECURSIVE n(i) AS (SELECT ${present + 1} UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
     SELECT 'bench-' || i, ${columns.copied} FROM n, (SELECT ${columns.copied} FROM ${table} ORDER BY id LIMIT 1)`,
  );
}

/** Adds a table of so many bytes to a database. */
export function fillDatabase(path: string, bytes: number): void {
  using file = new Database(path);
  file.run("CREATE TABLE bench_bulk (id INTEGER PRIMARY KEY, content BLOB)");
  const rows = Math.ceil(bytes / 4000);
  file.run(
    `INSERT INTO bench_bulk (content) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows}) SELECT randomblob(3900) FROM n`,
  );
}
